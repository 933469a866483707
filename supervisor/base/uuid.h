/* UUID version 7 (RFC 9562, section 5.7): milliseconds since 1970, then a counter in rand_a so that ids of one process sort
 * in the order in which they were made, then random bits from getrandom(2). */
#ifndef SNIPARA_BASE_UUID_H
#define SNIPARA_BASE_UUID_H

#define UUID_TEXT 37

void uuid_v7(char ret_text[UUID_TEXT]);

#endif
