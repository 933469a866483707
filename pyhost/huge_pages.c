#include "python.h"

#include "huge_pages.h"

#include "base/cleanup.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2ul << 20)
#define PAGE 4096ul
#define MADV_COLLAPSE_ 25
#define ROOM (64ul << 20) /* what numpy and pandas need, twice; address space only */
#define PIECE (1ul << 20) /* ARENA_SIZE of CPython since 3.10 */

/* ------------------------------------------------------------------ arenas */

static PyObjectArenaAllocator elsewhere;
static struct {
    char *base;
    size_t pieces, next; /* nothing here changes after huge_pages_release: interpreters with a lock of their own may come then (PEP 684) */
} room;

static void *take(void *context, size_t size)
{
    return size == PIECE && room.next < room.pieces ? room.base + room.next++ * PIECE : elsewhere.alloc(elsewhere.ctx, size);
}

static void give_back(void *context, void *at, size_t size)
{
    if (room.base && (char *)at >= room.base && (char *)at < room.base + room.next * PIECE)
        madvise(at, size, MADV_DONTNEED); /* the memory; the address is not used again */
    else
        elsewhere.free(elsewhere.ctx, at, size);
}

/* `size` bytes at a multiple of a huge page; NULL when there is no room. */
static char *map_aligned(size_t size)
{
    char *all = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (size_t)all % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(all, before);
    munmap(all + before + size, HUGE_PAGE - before);
    return all + before;
}

void huge_pages_gather(void)
{
    PyObject_GetArenaAllocator(&elsewhere);
    room.base = map_aligned(ROOM);
    room.pieces = room.base ? ROOM / PIECE : 0;
    PyObject_SetArenaAllocator(&(PyObjectArenaAllocator){NULL, take, give_back});
}

void huge_pages_release(void)
{
    /* the rest of the last huge page stays */
    size_t kept = (room.next * PIECE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    room.pieces = room.next;
    if (room.base && kept < ROOM)
        munmap(room.base + kept, ROOM - kept);
}

/* ------------------------------------------------------------------ heap */

static void collapse_heap(void)
{
    cleanup_file FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char permissions[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, permissions) != 3 || strcmp(permissions, "rw-p") != 0 || strchr(line, '/') ||
            strstr(line, "[stack]"))
            continue;
        for (unsigned long at = (start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1); at + HUGE_PAGE <= end; at += HUGE_PAGE)
            if (madvise((void *)at, HUGE_PAGE, MADV_COLLAPSE_) < 0 && errno == EINVAL)
                return;
    }
}

/* ------------------------------------------------------------------ code */

struct span {
    char *start, *end;
};

/* What of the object that has the interpreter's code is only read: its segments stand next to each other, the writable ones last. */
static int find_code(struct dl_phdr_info *info, size_t size, void *ret)
{
    struct span *code = ret, seen = {0};
    bool is_interpreter = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
            continue;
        char *start = (char *)info->dlpi_addr + segment->p_vaddr / PAGE * PAGE;
        char *end = (char *)info->dlpi_addr + (segment->p_vaddr + segment->p_memsz + PAGE - 1) / PAGE * PAGE;
        if (seen.end && start > seen.end)
            return is_interpreter; /* a hole, as linkers for larger pages leave it: not to be read */
        is_interpreter |= segment->p_flags & PF_X && (char *)(uintptr_t)PyEval_EvalCode >= start && (char *)(uintptr_t)PyEval_EvalCode < end;
        seen.start = seen.start && seen.start < start ? seen.start : start;
        seen.end = seen.end > end ? seen.end : end;
    }
    if (is_interpreter)
        *code = seen;
    return is_interpreter;
}

/* A copy in the place of what is mapped from the file, moved there in one step: there is no moment without code. False: nothing has
 * changed. */
static bool replace_by_copy(char *at)
{
    char *copy = map_aligned(HUGE_PAGE);
    if (!copy)
        return false;
    if (madvise(copy, HUGE_PAGE, MADV_HUGEPAGE) == 0) {
        memcpy(copy, at, HUGE_PAGE);
        if (madvise(copy, HUGE_PAGE, MADV_COLLAPSE_) == 0 && mprotect(copy, HUGE_PAGE, PROT_READ | PROT_EXEC) == 0 &&
            mremap(copy, HUGE_PAGE, HUGE_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
            return true;
    }
    munmap(copy, HUGE_PAGE);
    return false;
}

static void copy_code(void)
{
    struct span code = {0};
    dl_iterate_phdr(find_code, &code);
    for (char *at = code.start + (HUGE_PAGE - (size_t)code.start % HUGE_PAGE) % HUGE_PAGE;
         code.start && at + HUGE_PAGE <= code.end; at += HUGE_PAGE)
        if (!replace_by_copy(at))
            return;
}

void huge_pages_settle(void)
{
    collapse_heap();
    copy_code();
}
