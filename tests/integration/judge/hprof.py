# SPDX-License-Identifier: Apache-2.0
"""Reads a heap dump that the JVM wrote (hprof 1.0.2): every object's address, class and length.

In these dumps an object's id is its address. A java.lang.Class object appears as the CLASS_DUMP of the class it
stands for, and only if that class is linked; mirrors of primitive types are plain instances.
"""

import contextlib
import mmap
import struct

_UTF8, _LOAD_CLASS, _HEAP_DUMP, _HEAP_DUMP_SEGMENT = 0x01, 0x02, 0x0C, 0x1C
_STACK_FRAME, _STACK_TRACE = 0x04, 0x05
_SEGMENTS = (_HEAP_DUMP, _HEAP_DUMP_SEGMENT)
_LINE_NATIVE = -3
_CLASS_DUMP, _INSTANCE_DUMP, _OBJECT_ARRAY, _PRIMITIVE_ARRAY = 0x20, 0x21, 0x22, 0x23
_PRIMITIVES = {
    4: ("boolean", 1),
    5: ("char", 2),
    6: ("float", 4),
    7: ("double", 8),
    8: ("byte", 1),
    9: ("short", 2),
    10: ("int", 4),
    11: ("long", 8),
}
_REFERENCE = 2
_FIELD_BYTES = {_REFERENCE: 8, **{tag: size for tag, (_, size) in _PRIMITIVES.items()}}
# Bytes after the tag of the root records.
_ROOT_BYTES = {0xFF: 8, 0x01: 16, 0x02: 16, 0x03: 16, 0x04: 12, 0x05: 8, 0x06: 12, 0x07: 8, 0x08: 16}
# What the records of the heap begin with.
_ID = struct.Struct(">Q").unpack_from
_INSTANCE = struct.Struct(">QIQI").unpack_from  # id, stack, class, bytes of the fields
_ARRAY = struct.Struct(">QIIQ").unpack_from  # id, stack, elements, class
_NUMBERS = struct.Struct(">QIIB").unpack_from  # id, stack, elements, their type
_CLASS = struct.Struct(">QI").unpack_from  # id, stack


class Dump:
    """objects: address -> (class name as in Java source, length or None). mirrors: addresses of CLASS_DUMPs.
    stacks: serial numbers of the stacks that are said to have allocated objects. elements: address of an array
    of references -> these.
    """

    def __init__(self):
        self.objects = {}
        self.mirrors = set()
        self.stacks = set()
        self.elements = {}


def source_name(name, external=False):
    """`java/lang/String` or `[[I` as written in source; a hidden class as Class.getName() has it.

    external: the name has dots already, and a hidden class its slash."""
    dimensions = len(name) - len(name.lstrip("["))
    if dimensions:
        name = name[dimensions:]
        if name.startswith("L") and name.endswith(";"):
            name = name[1:-1]
        else:
            name = {
                "Z": "boolean",
                "C": "char",
                "F": "float",
                "D": "double",
                "B": "byte",
                "S": "short",
                "I": "int",
                "J": "long",
            }[name]
    if external:
        return name + "[]" * dimensions
    head, plus, address = name.rpartition("+0x")
    name = head.replace("/", ".") + "/0x" + address if plus else name.replace("/", ".")
    return name + "[]" * dimensions


class _Text:
    """The strings of a dump, and its classes by id and by serial number."""

    def __init__(self):
        self.strings, self.classes, self.by_serial = {}, {}, {}

    def take(self, data, tag, at, end):
        if tag == _UTF8:
            self.strings[_ID(data, at)[0]] = data[at + 8 : end].decode("utf-8", "replace")
        elif tag == _LOAD_CLASS:
            serial, klass, _, name = struct.unpack_from(">IQIQ", data, at)
            self.classes[klass] = self.by_serial[serial] = source_name(self.strings[name])


@contextlib.contextmanager
def _mapped(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic_end = data.find(b"\0") + 1
        if not data[:magic_end].startswith(b"JAVA PROFILE 1.0"):
            raise ValueError(f"{path} is no heap dump")
        (id_bytes,) = struct.unpack_from(">I", data, magic_end)
        if id_bytes != 8:
            raise ValueError(f"{path}: ids of {id_bytes} bytes")
        yield data


def _records(data):
    """(tag, begin, end) of each record outside of the heap; the end is excluded."""
    at = data.find(b"\0") + 13
    while at < len(data):
        tag, _, length = struct.unpack_from(">BII", data, at)
        yield tag, at + 9, at + 9 + length
        at += 9 + length


def _heap_records(data, at, end):
    """Of a segment (tag, begin, end, address, stack, class, count); the fields begin at begin, end is excluded.

    class: id, or type of the elements of a primitive array. count: bytes of an instance, elements of an array.
    What a record has not is None."""
    while at < end:
        tag = data[at]
        begin = at + 1
        if tag == _INSTANCE_DUMP:
            address, stack, klass, count = _INSTANCE(data, begin)
            at = begin + 24 + count
        elif tag == _OBJECT_ARRAY:
            address, stack, count, klass = _ARRAY(data, begin)
            at = begin + 24 + 8 * count
        elif tag == _PRIMITIVE_ARRAY:
            address, stack, count, klass = _NUMBERS(data, begin)
            at = begin + 17 + _PRIMITIVES[klass][1] * count
        elif tag == _CLASS_DUMP:
            address, stack = _CLASS(data, begin)
            klass = count = None
            at = _read_class(data, begin)[3]
        elif tag in _ROOT_BYTES:
            address = stack = klass = count = None
            at = begin + _ROOT_BYTES[tag]
        else:
            raise ValueError(f"unknown heap dump record {tag:#x} at {at}")
        yield tag, begin, at, address, stack, klass, count
    if at != end:
        raise ValueError("a heap dump record runs over its segment")


def read(path, references=False):
    """references: fill Dump.elements and Dump.stacks, which takes long for a large dump."""
    dump, text, segments = Dump(), _Text(), []
    with _mapped(path) as data:
        for tag, begin, end in _records(data):
            text.take(data, tag, begin, end)
            if tag in _SEGMENTS:
                segments.append((begin, end))
        for segment in segments:
            _read_segment(data, segment, text.classes, dump, references)
    return dump


def _read_segment(data, segment, names, dump, references):
    objects = dump.objects
    for tag, begin, _, address, stack, klass, count in _heap_records(data, *segment):
        if tag == _INSTANCE_DUMP:
            objects[address] = (names[klass], None)
        elif tag == _OBJECT_ARRAY:
            objects[address] = (names[klass], count)
            if references:
                dump.elements[address] = struct.unpack_from(f">{count}Q", data, begin + 24)
        elif tag == _PRIMITIVE_ARRAY:
            objects[address] = (_PRIMITIVES[klass][0] + "[]", count)
        elif tag == _CLASS_DUMP:
            dump.mirrors.add(address)
            continue
        else:
            continue
        if references:
            dump.stacks.add(stack)


def referenced(path, addresses, roots=True):
    """Those of the addresses that a field or an element of an object, a class or, unless roots is false, a root
    refers to."""
    found = set()
    with _mapped(path) as data:
        segments = [(begin, end) for tag, begin, end in _records(data) if tag in _SEGMENTS]
        layouts = _Layouts(data, segments)
        for segment in segments:
            for tag, begin, _, _, _, klass, count in _heap_records(data, *segment):
                if tag == _INSTANCE_DUMP:
                    held = layouts.of(klass).unpack_from(data, begin + 24)
                elif tag == _OBJECT_ARRAY:
                    held = struct.unpack_from(f">{count}Q", data, begin + 24)
                elif tag == _CLASS_DUMP:
                    held = _read_class(data, begin)[1]
                elif roots and tag in _ROOT_BYTES:
                    held = _ID(data, begin)
                else:
                    continue
                found.update(addresses.intersection(held))
    return found


class _Layouts:
    """Where the fields of an instance are that refer to objects."""

    def __init__(self, data, segments):
        self._classes, self._layouts = {}, {}
        for segment in segments:
            for tag, begin, _, address, *_ in _heap_records(data, *segment):
                if tag == _CLASS_DUMP:
                    superclass, _, types, _ = _read_class(data, begin)
                    self._classes[address] = superclass, types

    def of(self, klass):
        """A struct.Struct that reads these fields, and only these."""
        if klass not in self._layouts:
            text, at = "", klass
            while at:  # those of a superclass lie behind the class's own
                at, types = self._classes[at]
                text += "".join("Q" if kind == _REFERENCE else f"{_FIELD_BYTES[kind]}x" for kind in types)
            self._layouts[klass] = struct.Struct(">" + text)
        return self._layouts[klass]


def _read_class(data, at):
    """Of a CLASS_DUMP: superclass or 0, what the class refers to, types of the fields that its instances have
    beside those of the superclass, end of the record."""
    superclass, *held = struct.unpack_from(">6Q", data, at + 12)
    at += 8 + 4 + 6 * 8 + 4
    (constants,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(constants):
        at += 3 + _FIELD_BYTES[data[at + 2]]
    (statics,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(statics):
        if data[at + 8] == _REFERENCE:
            held.append(_ID(data, at + 9)[0])
        at += 9 + _FIELD_BYTES[data[at + 8]]
    (fields,) = struct.unpack_from(">H", data, at)
    end = at + 2 + 9 * fields
    return superclass, held, data[at + 10 : end : 9], end


class Stacks:
    """The stacks of which objects say that they allocated them."""

    def __init__(self):
        self._frames, self._stacks, self._serials = {}, {}, {}

    def of(self, address):
        """Frames, innermost first, each as anttracks names a site; [] if the stack has none."""
        return [self._frames[frame] for frame in self._stacks[self._serials[address]]]


def read_stacks(path):
    stacks, text = Stacks(), _Text()
    with _mapped(path) as data:
        for tag, begin, end in _records(data):
            text.take(data, tag, begin, end)
            if tag == _STACK_FRAME:
                frame, method, _, source, serial, line = struct.unpack_from(">QQQQIi", data, begin)
                strings = text.strings
                stacks._frames[frame] = _frame_text(
                    strings.get(method), text.by_serial.get(serial), strings.get(source), line
                )
            elif tag == _STACK_TRACE:
                serial, _, count = struct.unpack_from(">III", data, begin)
                stacks._stacks[serial] = struct.unpack_from(f">{count}Q", data, begin + 12)
            elif tag in _SEGMENTS:
                for _, _, _, address, stack, *_ in _heap_records(data, begin, end):
                    if address is not None:
                        stacks._serials[address] = stack
    return stacks


def _frame_text(method, class_name, source, line):
    if class_name is None:
        return method
    place = "Native Method" if line == _LINE_NATIVE else source or "Unknown Source"
    return f"{class_name}.{method}({place}{f':{line}' if line > 0 and source else ''})"
