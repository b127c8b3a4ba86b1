/* A thread with known spans: each 50 ms asleep and 30 ms at work, then 30 ms asleep in none; and
 * one that is never in any. spans.c is linked in, linked as a library, or loaded by its path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

__attribute__((weak)) void spans_enter(uint64_t trace, uint64_t span);
__attribute__((weak)) void spans_leave(void);

static void nap(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, 0);
}

static long used_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void work(long ms)
{
	long until = used_ms() + ms;

	while (used_ms() < until)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void *outside(void *unused)
{
	for (;;)
		nap(20);
	return unused;
}

int main(int arguments, char **argument)
{
	void (*enter)(uint64_t, uint64_t) = spans_enter;
	void (*leave)(void) = spans_leave;
	pthread_t thread;

	pthread_create(&thread, 0, outside, 0);
	pthread_setname_np(thread, "outside");
	pthread_setname_np(pthread_self(), "inside");
	if (arguments > 1) {
		void *library = dlopen(argument[1], RTLD_NOW);

		if (!library)
			return puts(dlerror()), 1;
		enter = (void (*)(uint64_t, uint64_t))dlsym(library, "spans_enter");
		leave = (void (*)(void))dlsym(library, "spans_leave");
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t span = 1;; span++) {
		enter(0x7ace, span);
		nap(50);
		work(30);
		leave();
		nap(30);
	}
}
