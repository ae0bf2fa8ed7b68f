/* Reads two adapters' clocks right after each other, ten times a second, for the truth about their
 * offset. Independent of wirestamp. Narrowest of several readings, each between two of the
 * real-time clock:
 *
 *   MONOTONIC NEAR_BEFORE NEAR NEAR_AFTER FAR_BEFORE FAR FAR_AFTER     in nanoseconds
 *
 * usage: clocks NEAR FAR SECONDS      devices: /dev/ptp0 ...; 0 seconds: one line */
#include <fcntl.h>
#include <linux/ptp_clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define READINGS 5

static long long nanoseconds(const struct ptp_clock_time *time)
{
	return time->sec * 1000000000LL + time->nsec;
}

/* before, clock, after */
static int read_clock(int clock, long long reading[3])
{
	struct ptp_sys_offset_extended answer = { .n_samples = READINGS };
	long long narrowest = -1;

	if (ioctl(clock, PTP_SYS_OFFSET_EXTENDED, &answer))
		return -1;
	for (int i = 0; i < READINGS; i++) {
		long long before = nanoseconds(&answer.ts[i][0]), after = nanoseconds(&answer.ts[i][2]);

		if (narrowest >= 0 && after - before >= narrowest)
			continue;
		narrowest = after - before;
		reading[0] = before;
		reading[1] = nanoseconds(&answer.ts[i][1]);
		reading[2] = after;
	}
	return 0;
}

static long long monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int count, char **arguments)
{
	int near, far;
	long long end;

	if (count != 4)
		return 2;
	near = open(arguments[1], O_RDONLY);
	far = open(arguments[2], O_RDONLY);
	if (near < 0 || far < 0) {
		perror("open");
		return 1;
	}
	end = monotonic() + atoll(arguments[3]) * 1000000000LL;
	for (;;) {
		long long one[3], two[3], now = monotonic();

		if (!read_clock(near, one) && !read_clock(far, two))
			printf("%lld %lld %lld %lld %lld %lld %lld\n", now, one[0], one[1], one[2], two[0], two[1], two[2]);
		else
			perror("read"); /* an adapter is being reset */
		fflush(stdout);
		if (now >= end)
			break;
		usleep(100000);
	}
	return 0;
}
