/* Hardware timestamps of the 82574 (e1000e) and the 82576 (igb) for QEMU, which emulates both
 * without them or with part of them. Included by QEMU's model of either, where insert.py puts
 * the include; the facts are those of Intel's datasheets, sections "time sync" (IEEE 1588).
 *
 * The includer defines, before:
 *   TIMESTAMP_CORE      the type of the adapter's state, with the registers in `mac`
 *   TIMESTAMP_TICK_NS   the period of the clock that TIMINCA counts
 *   TIMESTAMP_MATCH     the register field with the message to match: CONTROL (PTPv1) in the
 *                       lowest byte, message type (PTPv2) in the next
 *
 * An adapter has one register each for the transmit and the receive timestamp: what is sent or
 * arrives before the driver has read it gets none. */

/* TSYNCTXCTL and TSYNCRXCTL */
#define TIMESTAMP_VALID 0x01
#define TIMESTAMP_ENABLED 0x10
#define TIMESTAMP_TYPE(control) ((control) >> 1 & 7)
enum { LAYER2_V2 = 0, UDP_V1 = 1, ANY_V2 = 2, ALL_PACKETS = 4, EVENTS_V2 = 5 };

#define PTP_ETHERTYPE 0x88f7
#define PTP_EVENT_PORT 319

/* SYSTIM at this moment, as far as TIMINCA (increment below, period in the top byte) makes it. */
static uint64_t timestamp_counted(uint32_t timinca)
{
	uint64_t ticks = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	uint32_t period = timinca >> 24;

	return (unsigned __int128)ticks * (timinca & 0xffffff) / ((period ? period : 1) * TIMESTAMP_TICK_NS);
}

/* Puts the clock into a pair of registers: SYSTIM, or one of the timestamps. */
static void timestamp_latch(uint32_t *mac, int64_t base, size_t low, size_t high)
{
	uint64_t now = base + timestamp_counted(mac[TIMINCA]);

	mac[low] = now;
	mac[high] = now >> 32;
}

/* A new rate, without a jump. */
static void timestamp_set_rate(uint32_t *mac, int64_t *base, uint32_t timinca)
{
	*base += timestamp_counted(mac[TIMINCA]) - timestamp_counted(timinca);
	mac[TIMINCA] = timinca;
}

/* In what follows, QEMU's own clock of these adapters, which keeps another time, is this one. */
#define e1000x_timestamp timestamp_latch
#define e1000x_set_timinca timestamp_set_rate

/* A register pair is written if timestamps are on and the last one has been read. */
static bool timestamp_take(TIMESTAMP_CORE *core, size_t control, size_t low, size_t high)
{
	if ((core->mac[control] & (TIMESTAMP_ENABLED | TIMESTAMP_VALID)) != TIMESTAMP_ENABLED)
		return false;
	timestamp_latch(core->mac, core->timadj, low, high);
	core->mac[control] |= TIMESTAMP_VALID;
	return true;
}

static unsigned two_bytes(const uint8_t *bytes)
{
	return bytes[0] << 8 | bytes[1];
}

/* The place of a PTP message in a frame, over Ethernet or UDP; 0: there is none. */
static size_t ptp_message(const uint8_t *frame, size_t length, bool *udp)
{
	size_t at = 12;
	unsigned ethertype;

	while (at + 4 <= length && (two_bytes(frame + at) == 0x8100 || two_bytes(frame + at) == 0x88a8))
		at += 4;
	if (at + 2 > length)
		return 0;
	ethertype = two_bytes(frame + at);
	at += 2;
	*udp = ethertype != PTP_ETHERTYPE;
	if (*udp) {
		if (ethertype == 0x0800 && at + 20 <= length && frame[at + 9] == 17 && !(two_bytes(frame + at + 6) & 0x1fff))
			at += (frame[at] & 15) * 4;
		else if (ethertype == 0x86dd && at + 40 <= length && frame[at + 6] == 17)
			at += 40;
		else
			return 0;
		if (at + 8 > length || two_bytes(frame + at + 2) != PTP_EVENT_PORT)
			return 0;
		at += 8;
	}
	return at + 34 <= length ? at : 0;
}

/* Whether TSYNCRXCTL asks for this frame. */
static bool timestamp_wanted(TIMESTAMP_CORE *core, const uint8_t *frame, size_t length)
{
	unsigned match = TIMESTAMP_MATCH(core->mac), type = TIMESTAMP_TYPE(core->mac[TSYNCRXCTL]);
	const uint8_t *message;
	bool udp = false;
	size_t at;

	if (type == ALL_PACKETS)
		return true;
	at = ptp_message(frame, length, &udp);
	if (!at)
		return false;
	message = frame + at;
	if (type == UDP_V1)
		return udp && message[1] == 1 && message[32] == (match & 255);
	if ((message[1] & 15) != 2)
		return false;
	if (type == EVENTS_V2)
		return !(message[0] & 8);
	return message[0] == (match >> 8 & 255) && (type == ANY_V2 || (type == LAYER2_V2 && !udp));
}

/* A frame that the adapter accepts: whether the receive registers hold its timestamp. */
static bool timestamp_received(TIMESTAMP_CORE *core, const struct iovec *parts, int count, size_t start)
{
	uint8_t frame[160];
	size_t length = iov_to_buf(parts, count, start, frame, sizeof(frame));

	return timestamp_wanted(core, frame, length) && timestamp_take(core, TSYNCRXCTL, RXSTMPL, RXSTMPH);
}

/* The upper half of a receive timestamp was read: the registers are free for the next. */
static uint32_t timestamp_read_received(TIMESTAMP_CORE *core, int index)
{
	core->mac[TSYNCRXCTL] &= ~TIMESTAMP_VALID;
	return core->mac[index];
}
