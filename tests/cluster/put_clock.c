// Loaded before libc: the time of day of a process is off by what a file says, which may change while it runs. Clocks
// that nobody can put stay as they are. The file is the data folder's name and ".clock", eight bytes of seconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *off;

__attribute__((constructor)) static void find_clock(void) {
    const char *folder = getenv("STRONGROOM_DATA");
    char path[4096];
    if (folder == NULL || snprintf(path, sizeof path, "%s.clock", folder) >= (int)sizeof path) return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *seen = mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (seen != MAP_FAILED) off = seen;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, id, now);
    if (done == 0 && off != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *off;
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int done = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return done;
}

time_t time(time_t *stored) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (stored != NULL) *stored = now.tv_sec;
    return now.tv_sec;
}
