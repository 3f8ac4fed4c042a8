# SPDX-License-Identifier: Apache-2.0
"""Reads a heap dump that the JVM wrote (hprof 1.0.2): every object's address, class and length.

In these dumps an object's id is its address. A java.lang.Class object appears as the CLASS_DUMP of the class it
stands for, and only if that class is linked; mirrors of primitive types are plain instances.
"""

import mmap
import re
import struct

_UTF8, _LOAD_CLASS, _HEAP_DUMP, _HEAP_DUMP_SEGMENT = 0x01, 0x02, 0x0C, 0x1C
_STACK_FRAME, _STACK_TRACE = 0x04, 0x05
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
_FIELD_BYTES = {2: 8, **{tag: size for tag, (_, size) in _PRIMITIVES.items()}}
# Bytes after the tag of the root records.
_ROOT_BYTES = {0xFF: 8, 0x01: 16, 0x02: 16, 0x03: 16, 0x04: 12, 0x05: 8, 0x06: 12, 0x07: 8, 0x08: 16}


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


def read(path, references=False):
    """references: fill Dump.elements and Dump.stacks, which takes long for a large dump."""
    dump, strings, names = Dump(), {}, {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic_end = data.find(b"\0") + 1
        if not data[:magic_end].startswith(b"JAVA PROFILE 1.0"):
            raise ValueError(f"{path} is no heap dump")
        (id_bytes,) = struct.unpack_from(">I", data, magic_end)
        if id_bytes != 8:
            raise ValueError(f"{path}: ids of {id_bytes} bytes")
        at, size = magic_end + 12, len(data)
        segments = []
        while at < size:
            tag, _, length = struct.unpack_from(">BII", data, at)
            at += 9
            if tag == _UTF8:
                strings[struct.unpack_from(">Q", data, at)[0]] = data[at + 8 : at + length].decode(
                    "utf-8", "replace"
                )
            elif tag == _LOAD_CLASS:
                _, klass, _, name = struct.unpack_from(">IQIQ", data, at)
                names[klass] = source_name(strings[name])
            elif tag in (_HEAP_DUMP, _HEAP_DUMP_SEGMENT):
                segments.append((at, at + length))
            at += length
        for start, end in segments:
            _read_segment(data, start, end, names, dump)
            if references:
                _read_references(data, start, end, dump)
    return dump


def referenced(path, addresses):
    """Those of the addresses that stand anywhere in the dump but in an array of numbers: all that something
    refers to, and perhaps a few more."""
    wanted = {struct.pack(">Q", address) for address in addresses}
    places = [sorted({re.escape(each[i : i + 1]) for each in wanted}) for i in range(8)]
    pattern = re.compile(b"(?=(" + b"".join(b"[" + b"".join(place) + b"]" for place in places) + b"))")
    found = set()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for start, end in _segments(data):
            for begin, stop in _without_numbers(data, start, end):
                found.update(match[1] for match in pattern.finditer(data, begin, stop))
    return {int.from_bytes(each, "big") for each in found & wanted}


def _segments(data):
    at = data.find(b"\0") + 13
    while at < len(data):
        tag, _, length = struct.unpack_from(">BII", data, at)
        at += 9
        if tag in (_HEAP_DUMP, _HEAP_DUMP_SEGMENT):
            yield at, at + length
        at += length


def _without_numbers(data, at, end):
    """The parts of a segment between arrays of numbers."""
    begin = at
    while at < end:
        tag = data[at]
        if tag == _PRIMITIVE_ARRAY:
            yield begin, at
            _, _, count, element = struct.unpack_from(">QIIB", data, at + 1)
            at += 18 + _PRIMITIVES[element][1] * count
            begin = at
        elif tag == _INSTANCE_DUMP:
            at += 25 + struct.unpack_from(">I", data, at + 21)[0]
        elif tag == _OBJECT_ARRAY:
            at += 25 + 8 * struct.unpack_from(">I", data, at + 13)[0]
        elif tag == _CLASS_DUMP:
            at = _skip_class(data, at + 1)
        else:
            at += 1 + _ROOT_BYTES[tag]
    yield begin, at


def _read_segment(data, at, end, names, dump):
    objects = dump.objects
    instance = struct.Struct(">QIQI").unpack_from
    array = struct.Struct(">QIIQ").unpack_from
    primitive = struct.Struct(">QIIB").unpack_from
    while at < end:
        tag = data[at]
        at += 1
        if tag == _INSTANCE_DUMP:
            address, _, klass, length = instance(data, at)
            objects[address] = (names[klass], None)
            at += 24 + length
        elif tag == _OBJECT_ARRAY:
            address, _, count, klass = array(data, at)
            objects[address] = (names[klass], count)
            at += 24 + 8 * count
        elif tag == _PRIMITIVE_ARRAY:
            address, _, count, element = primitive(data, at)
            name, size = _PRIMITIVES[element]
            objects[address] = (name + "[]", count)
            at += 17 + size * count
        elif tag == _CLASS_DUMP:
            dump.mirrors.add(struct.unpack_from(">Q", data, at)[0])
            at = _skip_class(data, at)
        elif tag in _ROOT_BYTES:
            at += _ROOT_BYTES[tag]
        else:
            raise ValueError(f"unknown heap dump record {tag:#x} at {at - 1}")
    if at != end:
        raise ValueError("a heap dump record runs over its segment")


def _read_references(data, at, end, dump):
    while at < end:
        tag = data[at]
        at += 1
        if tag == _CLASS_DUMP:
            at = _skip_class(data, at)
            continue
        if tag in _ROOT_BYTES:
            at += _ROOT_BYTES[tag]
            continue
        address, serial, count = struct.unpack_from(">QII", data, at)
        dump.stacks.add(serial)
        if tag == _INSTANCE_DUMP:
            at += 24 + struct.unpack_from(">I", data, at + 20)[0]
        elif tag == _OBJECT_ARRAY:
            dump.elements[address] = struct.unpack_from(f">{count}Q", data, at + 24)
            at += 24 + 8 * count
        else:
            at += 17 + _PRIMITIVES[data[at + 16]][1] * count


def _skip_class(data, at):
    at += 8 + 4 + 6 * 8 + 4
    (constants,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(constants):
        at += 3 + _FIELD_BYTES[data[at + 2]]
    (statics,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(statics):
        at += 9 + _FIELD_BYTES[data[at + 8]]
    (fields,) = struct.unpack_from(">H", data, at)
    return at + 2 + 9 * fields


class Stacks:
    """The stacks of which objects say that they allocated them."""

    def __init__(self):
        self._frames, self._stacks, self._serials = {}, {}, {}

    def of(self, address):
        """Frames, innermost first, each as anttracks names a site; [] if the stack has none."""
        return [self._frames[frame] for frame in self._stacks[self._serials[address]]]


def read_stacks(path):
    stacks, strings, classes = Stacks(), {}, {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(b"\0") + 13
        while at < len(data):
            tag, _, length = struct.unpack_from(">BII", data, at)
            at += 9
            if tag == _UTF8:
                strings[struct.unpack_from(">Q", data, at)[0]] = data[at + 8 : at + length].decode(
                    "utf-8", "replace"
                )
            elif tag == _LOAD_CLASS:
                serial, _, _, name = struct.unpack_from(">IQIQ", data, at)
                classes[serial] = source_name(strings[name])
            elif tag == _STACK_FRAME:
                frame, method, _, source, serial, line = struct.unpack_from(">QQQQIi", data, at)
                stacks._frames[frame] = _frame_text(
                    strings.get(method), classes.get(serial), strings.get(source), line
                )
            elif tag == _STACK_TRACE:
                serial, _, count = struct.unpack_from(">III", data, at)
                stacks._stacks[serial] = struct.unpack_from(f">{count}Q", data, at + 12)
            elif tag in (_HEAP_DUMP, _HEAP_DUMP_SEGMENT):
                _read_serials(data, at, at + length, stacks._serials)
            at += length
    return stacks


def _frame_text(method, class_name, source, line):
    if class_name is None:
        return method
    place = "Native Method" if line == _LINE_NATIVE else source or "Unknown Source"
    return f"{class_name}.{method}({place}{f':{line}' if line > 0 and source else ''})"


def _read_serials(data, at, end, serials):
    while at < end:
        tag = data[at]
        at += 1
        if tag in _ROOT_BYTES:
            at += _ROOT_BYTES[tag]
            continue
        address, serial, count = struct.unpack_from(">QII", data, at)
        serials[address] = serial
        if tag == _CLASS_DUMP:
            at = _skip_class(data, at)
        elif tag == _INSTANCE_DUMP:
            at += 24 + struct.unpack_from(">I", data, at + 20)[0]
        elif tag == _OBJECT_ARRAY:
            at += 24 + 8 * count
        else:
            at += 17 + _PRIMITIVES[data[at + 16]][1] * count
