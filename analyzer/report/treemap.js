'use strict';

// Places items (with value) in a rectangle so that none is much longer than wide: Bruls, Huizing, van Wijk,
// Squarified Treemaps (2000). Sorted by value. Returns [{item, x, y, w, h}].
function squarify(items, x, y, w, h) {
  const placed = [];
  let rest = items.filter(item => item.value > 0), left = rest.reduce((sum, item) => sum + item.value, 0);
  while (rest.length && w > 0 && h > 0) {
    const side = Math.min(w, h), area = w * h / left;
    const worst = (sum, least, most) => {
      const a = sum * area;
      return Math.max(side * side * most * area / (a * a), a * a / (side * side * least * area));
    };
    let taken = 1, sum = rest[0].value;
    while (taken < rest.length &&
           worst(sum + rest[taken].value, rest[taken].value, rest[0].value) <=
             worst(sum, rest[taken - 1].value, rest[0].value)) {
      sum += rest[taken++].value;
    }
    const depth = sum * area / side;
    let at = 0;
    for (const item of rest.slice(0, taken)) {
      const length = item.value / sum * side;
      placed.push(w >= h ? {item, x, y: y + at, w: depth, h: length} : {item, x: x + at, y, w: length, h: depth});
      at += length;
    }
    if (w >= h) { x += depth; w -= depth; } else { y += depth; h -= depth; }
    left -= sum;
    rest = rest.slice(taken);
  }
  return placed;
}

// A treemap of groups and their items, with the keyboard as well as with the mouse. pick(name): an item was chosen.
class Treemap {
  constructor(parent, pick) {
    this.pick = pick;
    this.map = element('div', {
      class: 'treemap', tabindex: '0', role: 'application',
      'aria-label': 'Treemap. Arrow keys: go to the larger or smaller one. Enter: show it in the table below.'});
    this.detail = element('div', {class: 'detail', 'aria-live': 'polite'});
    parent.append(this.map, this.detail);
    this.map.addEventListener('keydown', event => this.key(event));
    window.addEventListener('resize', () => this.draw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  show(groups, about) {
    this.groups = groups;
    this.about = about;
    this.all = groups.reduce((sum, group) => sum + group.value, 0);
    this.draw();
    this.detail.textContent = this.all ? about : 'nothing: ' + about;
  }
  static hue(name) {
    let sum = 7;
    for (const c of name) sum = (sum * 31 + c.charCodeAt(0)) % 3600;
    return sum % 360;
  }

  draw() {
    if (!this.groups) return;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches, title = 18;
    this.cells = [];
    this.at = -1;
    this.map.replaceChildren();
    for (const {item: group, x, y, w, h} of squarify(this.groups, 0, 0, this.map.clientWidth, this.map.clientHeight)) {
      if (w < 2 || h < 2) continue;
      const hue = Treemap.hue(group.name), head = h > 2 * title && w > 40 ? title : 0;
      const box = this.box('group', x, y, w, h, `hsl(${hue} 35% ${dark ? 18 : 80}%)`);
      if (head) box.append(element('span', {}, group.name));
      const inner = squarify(group.items, 1, head, w - 3, h - head - 2);
      for (const {item, x: ix, y: iy, w: iw, h: ih} of inner) {
        if (iw < 2 || ih < 2) continue;
        const cell = this.box('cell', x + ix, y + iy, iw - 1, ih - 1, `hsl(${hue} 45% ${dark ? 26 : 90}%)`);
        if (iw > 34 && ih > 15) cell.append(element('span', {}, Treemap.short(item.name)));
        const number = this.cells.length;
        cell.addEventListener('mouseenter', () => this.choose(number));
        cell.addEventListener('click', () => this.pick(item.name));
        this.cells.push({cell, item, group});
      }
    }
  }
  box(kind, x, y, w, h, colour) {
    const box = element('div', {class: kind});
    Object.assign(box.style, {left: x + 'px', top: y + 'px', width: Math.max(1, w - 1) + 'px',
      height: Math.max(1, h - 1) + 'px', backgroundColor: colour});
    this.map.append(box);
    return box;
  }
  // Of a class the name without its package, of a site method and line.
  static short(name) {
    const method = name.indexOf('('), end = method < 0 ? name.length : name.lastIndexOf('.', method);
    return name.slice(name.lastIndexOf('.', end - 1) + 1);
  }
  choose(number) {
    if (this.at >= 0 && this.cells[this.at]) this.cells[this.at].cell.classList.remove('chosen');
    this.at = number;
    const {cell, item, group} = this.cells[number];
    cell.classList.add('chosen');
    this.detail.textContent = `${item.name}, in ${group.name}: ${count(item.bytes)} bytes in ${count(item.objects)} ` +
      `objects (${percent(item.value, this.all)}); ${this.about}`;
  }
  key(event) {
    const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
    if (event.key === 'Enter' && this.at >= 0) {
      this.pick(this.cells[this.at].item.name);
    } else if (event.key in steps && this.cells.length) {
      this.choose(Math.min(this.cells.length - 1, Math.max(0, this.at + steps[event.key])));
    } else {
      return;
    }
    event.preventDefault();
  }
}
