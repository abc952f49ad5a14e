/* Makes the nth call of a kind fail: an allocation, a read, the start of a thread, an fsync. To be preloaded.
 *
 * Only calls of those who are meant count: allocations of our own extensions, buffers of Arrow's memory pool, reads of
 * files below a folder, threads that Python starts. What other libraries make of failures is their affair. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { NONE, OWN_MEMORY, ARROW_MEMORY, PYTHON_MEMORY, READ, THREAD, FSYNC };

#define MOST 256

static struct {
    atomic_int kind;
    atomic_long count;
    long fail_at;
    char folder[512];
    int ranges;
    uintptr_t start[MOST], end[MOST];
} fault;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int is_own(const char *name)
{
    /* An environment may lie below the checkout: what is installed counts by its package's name. */
    const char *installed = strstr(name, "site-packages/");
    return strstr(installed ? installed : name, "tableformats") != NULL && strstr(name, ".so") != NULL;
}

static int is_meant(const char *name)
{
    switch (fault.kind) {
    case OWN_MEMORY: return is_own(name);
    case ARROW_MEMORY: return strstr(name, "libarrow.so") != NULL;
    case THREAD: return !*name || strstr(name, "libpython") != NULL;
    default: return 0;
    }
}

static int add_range(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!is_meant(info->dlpi_name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && fault.ranges < MOST; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        fault.start[fault.ranges] = info->dlpi_addr + part->p_vaddr;
        fault.end[fault.ranges++] = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

/* From now on the call number fail_at (from 1 on) of the kind fails; 0: none. Forgets what was counted. */
void fault_arm(int kind, long fail_at, const char *folder)
{
    fault.kind = NONE;
    fault.count = 0;
    fault.fail_at = fail_at;
    snprintf(fault.folder, sizeof fault.folder, "%s", folder);
    fault.ranges = 0;
    int asked = kind;
    fault.kind = asked;
    if (kind == OWN_MEMORY || kind == ARROW_MEMORY || kind == THREAD) {
        dl_iterate_phdr(add_range, NULL);
    }
    fault.count = 0;
}

/* Calls since fault_arm, which ends with this. */
long fault_disarm(void)
{
    fault.kind = NONE;
    return fault.count;
}

static int fails(void)
{
    return atomic_fetch_add(&fault.count, 1) + 1 == fault.fail_at;
}

static int fails_for(enum kind kind, void *caller)
{
    if (fault.kind != (int)kind)
        return 0;
    for (int i = 0; i < fault.ranges; i++)
        if ((uintptr_t)caller >= fault.start[i] && (uintptr_t)caller < fault.end[i])
            return fails();
    return 0;
}

static int fails_to_read(int file)
{
    char link[64], name[1024];
    if (fault.kind != READ)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, name, sizeof name - 1);
    if (size <= 0)
        return 0;
    name[size] = 0;
    return strncmp(name, fault.folder, strlen(fault.folder)) == 0 && fails();
}

/* Python's allocators (C API: Memory Management, PyMemAllocatorEx), one for each domain. */
typedef struct {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;

static Allocator real[3];

static int fails_in_python(void)
{
    return fault.kind == PYTHON_MEMORY && fails();
}

static void *python_malloc(void *context, size_t size)
{
    Allocator *own = context;
    return fails_in_python() ? NULL : own->malloc(own->context, size);
}

static void *python_calloc(void *context, size_t count, size_t size)
{
    Allocator *own = context;
    return fails_in_python() ? NULL : own->calloc(own->context, count, size);
}

static void *python_realloc(void *context, void *block, size_t size)
{
    Allocator *own = context;
    return fails_in_python() ? NULL : own->realloc(own->context, block, size);
}

static void python_free(void *context, void *block)
{
    Allocator *own = context;
    own->free(own->context, block);
}

/* Has Python allocate through the functions above, for the rest of the process. */
void fault_watch_python(void)
{
    void (*get)(int, Allocator *), (*set)(int, Allocator *);
    *(void **)&get = dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    *(void **)&set = dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    for (int domain = 0; domain < 3; domain++) {
        Allocator own = {&real[domain], python_malloc, python_calloc, python_realloc, python_free};
        get(domain, &real[domain]);
        set(domain, &own);
    }
}

void *malloc(size_t size)
{
    if (fails_for(OWN_MEMORY, __builtin_return_address(0))) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (fails_for(OWN_MEMORY, __builtin_return_address(0))) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    if (fails_for(OWN_MEMORY, __builtin_return_address(0))) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails_for(ARROW_MEMORY, __builtin_return_address(0)))
        return ENOMEM;
    void *found = __libc_memalign(alignment, size);
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

ssize_t read(int file, void *target, size_t size)
{
    if (fails_to_read(file)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, file, target, size);
}

ssize_t pread64(int file, void *target, size_t size, off64_t offset)
{
    if (fails_to_read(file)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, file, target, size, offset);
}

ssize_t pread(int file, void *target, size_t size, off_t offset)
{
    return pread64(file, target, size, offset);
}

int fsync(int file)
{
    if (fault.kind == FSYNC && fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails_for(THREAD, __builtin_return_address(0)))
        return EAGAIN;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, run, argument);
}

/* Ends the process with 77 if the crash is below a function of ours, and with 78 if it is another library's. */
static void on_crash(int number, siginfo_t *info, void *unused)
{
    void *frames[64];
    (void)number;
    (void)info;
    (void)unused;
    int found = backtrace(frames, 64);
    for (int i = 0; i < found && i < 24; i++) {
        Dl_info place;
        if (dladdr(frames[i], &place) && place.dli_fname != NULL && is_own(place.dli_fname)) {
            backtrace_symbols_fd(frames, found, 2);
            _exit(77);
        }
    }
    _exit(78);
}

void fault_watch_crashes(void)
{
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *frames[4];
    backtrace(frames, 4); /* loads what it needs while there is memory */
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}
