#include "base/mutant.h"

#ifdef SNIPARA_MUTANTS
#include <stdio.h>
#include <stdlib.h>

#define VARIABLE "SNIPARA_MUTANT"

static int number = -1; /* not read yet; 0: the unchanged program */

static int row_switched_off(void)
{
    if (number < 0) {
        const char *text = getenv(VARIABLE);
        number = text ? atoi(text) : 0;
    }
    return number;
}

bool mutant(int row)
{
    return row_switched_off() == row;
}

bool mutant_any(void)
{
    return row_switched_off() > 0;
}

const char *mutant_setting(void)
{
    static char text[40];
    if (!mutant_any())
        return NULL;
    snprintf(text, sizeof text, VARIABLE "=%d", number);
    return text;
}

void mutant_take(void)
{
    row_switched_off();
    if (mutant(44))
        clearenv(); /* what came with it stays in memory only */
    unsetenv(VARIABLE);
}

void mutant_announce(void)
{
    if (mutant_any())
        fprintf(stderr, "snipara-sandbox: MUTANT BUILD, for tests only: step %d of the walls is taken out\n", number);
    else
        fputs("snipara-sandbox: MUTANT BUILD, for tests only: its walls can be switched off\n", stderr);
}

const char *mutant_build(void)
{
    return "MUTANT BUILD, for tests only: its walls can be switched off";
}
#else
typedef int not_empty; /* ISO C wants a declaration in every translation unit */
#endif
