'use strict';

// Elements and texts. All text of a trace becomes text of the page by textContent, never HTML.

// element('a', {href: '#'}, 'text', other)
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
// The name of a class or a place, which a line may end in after each part of it.
function breakable(name) {
  const parts = name.split(/(?<=[.$(/])/);
  return parts.flatMap((part, i) => i ? [element('wbr'), part] : [part]);
}

// Attr.visit(Attr.java:7) of com.sun.tools.javac.comp.Attr.visit(Attr.java:7)
const withoutPackage = name => name.replace(/^(?:[a-z_][\w]*\.)+(?=[A-Z])/, '');

// Of a text that is very long its beginning and its end, which has the method and the line.
const shortened = (text, most = 200) =>
  text.length <= most ? text : text.slice(0, most / 4) + '\u2026' + text.slice(-most / 4);
// The same, and all of it on demand.
function folded(text, most = 200) {
  if (text.length <= most) return breakable(text);
  return [element('details', {}, element('summary', {}, ...breakable(shortened(text, most))), text)];
}

const count = number => Math.round(number).toLocaleString('en');
const percent = (part, whole) => whole ? (100 * part / whole).toFixed(2) + ' %' : '-';

// Three digits: 1.50 MiB.
function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; Math.abs(bytes) >= 1024 && unit + 1 < units.length; unit++) bytes /= 1024;
  return (unit === 0 ? Math.round(bytes) : digits(bytes)) + ' ' + units[unit];
}
function digits(number) {
  const whole = Math.trunc(Math.abs(number)).toString().length;
  return number.toFixed(Math.max(0, 3 - whole));
}
function duration(ns) {
  if (ns < 1e3) return Math.round(ns) + ' ns';
  if (ns < 1e6) return digits(ns / 1e3) + ' µs';
  if (ns < 1e9) return digits(ns / 1e6) + ' ms';
  if (ns < 120e9) return digits(ns / 1e9) + ' s';
  return ns < 7200e9 ? digits(ns / 60e9) + ' min' : digits(ns / 3600e9) + ' h';
}
