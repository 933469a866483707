/* The zygote's memory in huge pages: a fork copies one entry instead of 512, a payload does not fault in what it only reads, and its end
 * has one entry to take back. Where the kernel has no huge pages to give (before Linux 6.1, or by the administrator's word) nothing
 * changes but the speed. Linux: Documentation/admin-guide/mm/transhuge.rst; madvise(2), MADV_COLLAPSE. */
#ifndef SNIPARA_PYHOST_HUGE_PAGES_H
#define SNIPARA_PYHOST_HUGE_PAGES_H

/* Let CPython's small objects live side by side in one aligned piece of address space. Before the interpreter starts. */
void huge_pages_gather(void);

/* Give back the address space that was not needed: RLIMIT_DATA counts it, and the guest's memory is the guest's. Once, when everything
 * that payloads inherit is there. */
void huge_pages_release(void);

/* Turn heap and libpython's code into huge pages, after that. Never fails; 5 ms, which an interpreter for one call does not earn back. */
void huge_pages_settle(void);

#endif
