#!/usr/bin/env python3
"""Volumes as AWS has them, for a guest: an NVMe/TCP target whose page 0xD0 counts what Nitro counts.

    fake_ebs.py     prints the port that it listens on at 127.0.0.1, and serves until it is ended

The guest names a volume of VOLUMES in its NQN, `nqn.2014-08.org.example:NAME`. A volume reads as zeros and forgets what is written. Its limits
are token buckets with a tenth of a second of credit. The time for which a request waits for a token is the time for which the limit is exceeded.
Formats: NVM Express Base and NVMe/TCP Transport Specifications, and crates/device/src/nvme/provider_page.rs for the page.
"""
import asyncio
import struct
import time

BLOCK, GIB = 512, 1 << 30
CREDIT = 0.1
BINS = 28
MAGIC = {'ebs': 0x3C23B510, 'local': 0xEC2C0D7E}
MODEL = {
    'ebs': 'Amazon Elastic Block Store',
    'local': 'Amazon EC2 NVMe Instance Storage',
    'plain': 'Example NVMe SSD',
}


class Bucket:
    """A limit of so many tokens a second; `exceeded` is in seconds."""

    def __init__(self, rate):
        self.rate, self.slot = rate, 0.0

    def admit(self, now, tokens, exceeded):
        """When a request that comes now gets its tokens. Its wait is added to what a page counts as exceeded."""
        self.slot = max(self.slot, now - CREDIT) + tokens / self.rate
        exceeded.wait(now, self.slot)
        return max(now, self.slot)


class Exceeded:
    """The time in which at least one request of a volume waited for a limit."""

    def __init__(self):
        self.seconds, self.until = 0.0, 0.0

    def wait(self, now, admitted):
        self.seconds += max(0.0, admitted - max(now, self.until))
        self.until = max(self.until, admitted)


class Volume:
    def __init__(self, kind='ebs', iops=None, throughput=None, instance=None, latency=0.0005, servers=None, stall=None,
                 others=0, lie=None, hot=False, later=None):
        self.kind, self.latency, self.stall, self.others, self.lie, self.hot = kind, latency, stall, others, lie, hot
        self.limits = [(bucket, Exceeded()) for bucket in (iops and Bucket(iops), throughput and Bucket(throughput))]
        self.instance, self.instance_exceeded = instance, Exceeded()
        self.free = [0.0] * servers if servers else None
        self.ios, self.bytes, self.us, self.queue = [0, 0], [0, 0], [0.0, 0.0], 0
        self.bins = [[0] * BINS, [0] * BINS]
        self.began = time.monotonic()
        # Seconds after the first request, and the limit on I/Os from then on.
        self.later, self.first = later, None

    def completes(self, now, length):
        """When a request of this length that comes now is done."""
        at = now
        self.first = self.first or now
        if self.later and now - self.first > self.later[0]:
            self.limits[0][0].rate = self.later[1]
        if self.instance:
            at = self.instance.admit(now, 1, self.instance_exceeded)
        for (bucket, exceeded), tokens in zip(self.limits, (1, length)):
            if bucket:
                at = max(at, bucket.admit(now, tokens, exceeded))
        if self.free:
            first = min(range(len(self.free)), key=self.free.__getitem__)
            at = max(at, self.free[first])
            self.free[first] = at + self.latency
        at += self.latency
        if self.stall:
            every, length = self.stall
            since = (at - self.began) % every
            # The last part of each period is a stall.
            if since > every - length:
                at += every - since
        return at

    def count(self, direction, length, took):
        us = took * 1e6
        self.ios[direction] += 1
        self.bytes[direction] += length
        self.us[direction] += us
        self.bins[direction][min(int(us).bit_length(), BINS - 1)] += 1

    def provider_page(self):
        exceeded = [int(1e6 * e.seconds) for _, e in self.limits] + [int(1e6 * self.instance_exceeded.seconds), 0]
        if self.kind == 'local':
            # A local disk has limits of the instance alone.
            exceeded = [0, 0, exceeded[0], exceeded[1]]
        ios, moved = self.ios, self.bytes
        if self.lie == 'fewer':
            ios, moved = [n // 2 for n in ios], [n // 2 for n in moved]
        if self.lie == 'exceeded':
            exceeded[0] = int(3e6 * (time.monotonic() - self.began))
        page = struct.pack('<II11Q', MAGIC.get(self.kind, 0), 1, *ios, *moved, *map(int, self.us), *exceeded, self.queue)
        page = page.ljust(512, b'\0')
        for bins in self.bins:
            page += struct.pack('<Q', BINS)
            for i in range(64):
                upper = (1 << 64) - 1 if i == BINS - 1 else 1 << i
                page += struct.pack('<QQII', i and 1 << (i - 1), upper, bins[i] & 0xFFFFFFFF, 0) if i < BINS else bytes(24)
        return page + struct.pack('<II', 1, 0xFFFFFFFF)

    def smart_page(self):
        page = bytearray(512)
        if self.hot:
            struct.pack_into('<I', page, 220, 1)
            struct.pack_into('<I', page, 228, int(time.monotonic() - self.began))
        return bytes(page)

    def log_page(self, number):
        if number == 0xD0 and self.kind in MAGIC:
            return self.provider_page()
        if number == 2:
            return self.smart_page()
        return b'' if number in (1, 3) else None

    async def other_user(self):
        """Another user of the volume, whose requests nobody sees but the page."""
        while True:
            await asyncio.sleep(1 / self.others)
            now = time.monotonic()
            self.count(0, 4096, self.completes(now, 4096) - now)


PAIR = Bucket(80)
VOLUMES = {
    # A gp3 is promised 3,000 IOPS and 125 MiB/s.
    **{f'p{percent}': Volume(iops=30 * percent, throughput=125 << 20) for percent in (10, 50, 90, 97, 100)},
    # Rates that an emulated guest on a busy machine carries as well.
    'part': Volume(iops=60),
    'named': Volume(iops=60),
    'idle': Volume(),
    'pair1': Volume(iops=3000, instance=PAIR),
    'pair2': Volume(iops=3000, instance=PAIR),
    'stall': Volume(iops=3000, latency=0.2, servers=16, stall=(10, 2)),
    'slow': Volume(iops=3000, latency=0.1, servers=8),
    'shared': Volume(iops=60, others=10),
    'fewer': Volume(iops=60, lie='fewer'),
    'longer': Volume(iops=60, lie='exceeded'),
    'local': Volume(kind='local', iops=60),
    'watched': Volume(iops=60, later=(45, 3000)),
    'hot': Volume(kind='plain', latency=0.1, servers=4, hot=True),
}
NQN = 'nqn.2014-08.org.example:'


def text(page, at, length, words):
    page[at:at + length] = words.encode().ljust(length)


def identify_controller(name, volume):
    page = bytearray(4096)
    struct.pack_into('<HH', page, 0, 0x1D0F, 0x1D0F)
    text(page, 4, 20, f'vol{name}')
    text(page, 24, 40, MODEL[volume.kind])
    text(page, 64, 8, '1.0')
    # Transfers of 1 MiB at most (mdts), an I/O controller of version 1.3, and sizes of queue entries.
    page[77], page[111] = 8, 1
    struct.pack_into('<HI', page, 78, 1, 0x10300)
    page[259] = 3
    struct.pack_into('<H', page, 320, 10)
    page[512], page[513] = 0x66, 0x44
    struct.pack_into('<HI', page, 514, 128, 1)
    # No SGL but those of the transport.
    struct.pack_into('<I', page, 536, 0x100001)
    page[768:768 + 256] = (NQN + name).encode().ljust(256, b'\0')
    struct.pack_into('<IIHBB', page, 1792, 4, 1, 0, 0, 1)
    return bytes(page)


def identify_namespace(name):
    page = bytearray(4096)
    struct.pack_into('<QQQ', page, 0, *[100 * GIB // BLOCK] * 3)
    page[104:120] = name.encode().ljust(16, b'.')
    page[130] = 9
    return bytes(page)


class Connection(asyncio.Protocol):
    """A queue: the first one of a controller takes admin commands, further ones I/O."""

    def connection_made(self, transport):
        self.transport, self.received, self.queue, self.config = transport, b'', None, 0
        self.name, self.volume, self.writes = '', None, {}

    def data_received(self, data):
        self.received += data
        while len(self.received) >= 8:
            kind, _, header, offset, length = struct.unpack_from('<BBBBI', self.received)
            if len(self.received) < length:
                return
            body, self.received = self.received[:length], self.received[length:]
            self.pdu(kind, body, body[offset:] if offset else b'')

    def send(self, kind, flags, header, offset, body, data=b''):
        length = 8 + len(body) + len(data)
        self.transport.write(struct.pack('<BBBBI', kind, flags, header, offset, length) + body + data)

    def respond(self, command, result=0, status=0):
        self.send(5, 0, 24, 0, struct.pack('<QHHHH', result, 0, self.queue or 0, command, status << 1))

    def answer(self, command, data):
        # Data that also says that the command is done.
        self.send(7, 0x0C, 24, 24, struct.pack('<HHIII', command, 0, 0, len(data), 0), data)

    def pdu(self, kind, body, data):
        if kind == 0:
            self.send(1, 0, 128, 0, struct.pack('<HBBI', 0, 0, 0, 1 << 20) + bytes(112))
        elif kind == 6:
            command, _, offset, length = struct.unpack_from('<HHII', body, 8)
            if offset + length >= self.writes[command]:
                self.start(command, 1, self.writes.pop(command))
        elif kind == 4:
            entry = body[8:72]
            operation, command, namespace = entry[0], *struct.unpack_from('<HI', entry, 2)
            words = struct.unpack_from('<6I', entry, 40)
            if operation == 0x7F:
                self.fabrics(entry, command, data)
            elif self.queue == 0:
                self.admin(operation, command, namespace, words)
            else:
                self.io(operation, command, words, data)

    def fabrics(self, entry, command, data):
        if entry[4] == 1:
            self.queue = struct.unpack_from('<H', entry, 42)[0]
            self.name = data[256:512].split(b'\0')[0].decode().removeprefix(NQN)
            self.volume = VOLUMES.get(self.name)
            self.respond(command, 1, 0 if self.volume else 0x182)
        elif entry[4] == 0:
            offset, value = struct.unpack_from('<IQ', entry, 44)
            self.config = value & 0xFFFFFFFF if offset == 0x14 else self.config
            self.respond(command)
        else:
            ready = self.config & 1 | (2 << 2 if self.config >> 14 & 3 else 0)
            registers = {0: 127 | 1 << 16 | 20 << 24 | 1 << 37, 8: 0x10300, 0x14: self.config, 0x1C: ready}
            self.respond(command, registers.get(struct.unpack_from('<I', entry, 44)[0], 0))

    def admin(self, operation, command, namespace, words):
        if operation == 6:
            pages = {
                0: identify_namespace(self.name),
                1: identify_controller(self.name, self.volume),
                2: struct.pack('<I', 1) if namespace < 1 else b'',
                3: struct.pack('<BBH', 2, 16, 0) + self.name.encode().ljust(16, b'.'),
            }
            page = pages.get(words[0] & 0xFF)
            self.respond(command, 0, 2) if page is None else self.answer(command, page.ljust(4096, b'\0'))
        elif operation == 2:
            length = 4 * (((words[1] & 0xFFFF) << 16 | words[0] >> 16) + 1)
            page = self.volume.log_page(words[0] & 0xFF)
            self.respond(command, 0, 0x109) if page is None else self.answer(command, page[:length].ljust(length, b'\0'))
        elif operation != 0x0C:
            # Features, keep-alive, abort. An event that is waited for (0x0C) never comes.
            self.respond(command)

    def io(self, operation, command, words, data):
        length = BLOCK * ((words[2] & 0xFFFF) + 1)
        if operation == 2:
            self.start(command, 0, length)
        elif operation == 1 and data:
            self.start(command, 1, length)
        elif operation == 1:
            self.writes[command] = length
            self.send(9, 0, 24, 0, struct.pack('<HHIII', command, command, 0, length, 0))
        else:
            self.respond(command, 0, 0 if operation == 0 else 1)

    def start(self, command, direction, length):
        now, loop = time.monotonic(), asyncio.get_running_loop()
        self.volume.queue += 1

        def done():
            self.volume.queue -= 1
            self.volume.count(direction, length, time.monotonic() - now)
            if direction:
                self.respond(command)
            else:
                self.answer(command, bytes(length))
        loop.call_at(self.volume.completes(now, length), done)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, '127.0.0.1', 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    users = [asyncio.ensure_future(volume.other_user()) for volume in VOLUMES.values() if volume.others]
    await asyncio.gather(server.serve_forever(), *users)

asyncio.run(main())
