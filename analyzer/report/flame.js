'use strict';

// A flame graph on a canvas, with the keyboard as well as with the mouse. parent: an element that gets it.
// show(nodes): in pre-order, {depth, name, value, bytes, objects, parent, left}; a call is as wide as its value's
// share of the value of the call that is zoomed to, and begins at left.
class FlameGraph {
  constructor(parent, about) {
    this.rowHeight = 20;
    this.wanted = '';
    this.search = element('input', {type: 'search', autocomplete: 'off', spellcheck: 'false'});
    this.found = element('span', {role: 'status'});
    const reset = element('button', {type: 'button'}, 'Whole graph');
    const form = element('form', {class: 'flame-form'},
      element('label', {}, 'Find calls with ', this.search), reset, this.found);
    this.canvas = element('canvas', {
      tabindex: '0', role: 'application',
      'aria-label': about + '. Arrow keys: go to caller, callee or neighbour. Enter: make the call as wide as the ' +
        'page. Escape: whole graph.'});
    this.rest = element('div');
    this.box = element('div', {class: 'flame-box'}, this.canvas, this.rest);
    this.detail = element('div', {class: 'flame-detail', 'aria-live': 'polite'});
    parent.append(form, this.box, this.detail);
    form.addEventListener('submit', event => event.preventDefault());
    reset.addEventListener('click', () => this.zoomTo(this.nodes[0]));
    this.search.addEventListener('input', () => this.find());
    this.canvas.addEventListener('mousemove', event => {
      const node = this.nodeAt(event);
      if (node && node !== this.chosen) this.choose(node);
    });
    this.canvas.addEventListener('click', event => {
      const node = this.nodeAt(event);
      if (node) this.zoomTo(node);
    });
    this.canvas.addEventListener('keydown', event => this.key(event));
    this.box.addEventListener('scroll', () => this.draw());
    window.addEventListener('resize', () => this.draw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  show(nodes) {
    this.nodes = nodes;
    this.deepest = nodes.reduce((most, node) => Math.max(most, node.depth), 0);
    this.zoom = nodes[0];
    this.choose(nodes[0]);
    this.find();
  }

  matches(node) { return this.wanted !== '' && node.name.toLowerCase().includes(this.wanted); }
  static isAbove(node, other) {
    return node.depth <= other.depth && node.left <= other.left &&
      other.left + other.value <= node.left + node.value;
  }
  static hue(name) {
    let sum = 0;
    for (const c of name.replace(/\(.*/, '')) sum = (sum * 31 + c.charCodeAt(0)) % 997;
    return 18 + sum % 40;
  }
  place(node) {
    const width = this.canvas.clientWidth, zoom = this.zoom, scale = zoom.value ? width / zoom.value : 0;
    if (FlameGraph.isAbove(node, zoom)) return {x: 0, w: width};
    return {x: (node.left - zoom.left) * scale, w: FlameGraph.isAbove(zoom, node) ? node.value * scale : 0};
  }

  draw() {
    if (!this.nodes) return;
    const ratio = window.devicePixelRatio || 1, dark = matchMedia('(prefers-color-scheme: dark)').matches;
    // Only what is in sight is drawn: a canvas cannot be as high as deep stacks.
    const all = (this.deepest + 1) * this.rowHeight, height = Math.min(all, window.innerHeight * .7);
    const top = this.box.scrollTop, canvas = this.canvas;
    canvas.style.height = height + 'px';
    this.rest.style.height = all - height + 'px';
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    c.font = '12px system-ui, sans-serif';
    c.textBaseline = 'middle';
    for (const node of this.nodes) {
      const y = node.depth * this.rowHeight - top;
      if (y + this.rowHeight < 0 || y > height) continue;
      const {x, w} = this.place(node);
      if (w >= .5 && x + w >= 0) this.drawNode(c, node, x, y, w, dark);
    }
  }
  drawNode(c, node, x, y, w, dark) {
    const height = this.rowHeight, hit = this.matches(node);
    c.fillStyle = hit ? (dark ? '#8a4fd0' : '#c9a2ff') : `hsl(${FlameGraph.hue(node.name)} 70% ${dark ? 30 : 75}%)`;
    c.fillRect(x, y, Math.max(w - 1, .5), height - 1);
    if (hit) { c.fillStyle = dark ? '#fff' : '#000'; c.fillRect(x, y + height - 4, Math.max(w - 1, .5), 3); }
    if (node === this.chosen) {
      c.strokeStyle = dark ? '#fff' : '#000';
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), height - 3);
    }
    if (w < 30) return;
    c.save();
    c.beginPath();
    c.rect(x, y, w - 3, height);
    c.clip();
    c.fillStyle = dark ? '#fff' : '#000';
    const fits = c.measureText(node.name).width < w - 8;
    c.fillText(fits ? node.name : withoutPackage(node.name), x + 4, y + height / 2);
    c.restore();
  }

  choose(node) {
    this.chosen = node;
    this.detail.textContent = `${node.name}: ${count(node.bytes)} bytes (${percent(node.bytes, this.nodes[0].bytes)}), ` +
      `${count(node.objects)} objects`;
    this.draw();
  }
  zoomTo(node) { this.zoom = node; this.choose(node); }
  nodeAt(event) {
    const at = this.canvas.getBoundingClientRect(), px = event.clientX - at.left;
    const depth = Math.floor((event.clientY - at.top + this.box.scrollTop) / this.rowHeight);
    return this.nodes.find(node => {
      if (node.depth !== depth) return false;
      const {x, w} = this.place(node);
      return px >= x && px < x + w;
    });
  }
  key(event) {
    const chosen = this.chosen, at = this.nodes.indexOf(chosen);
    const row = this.nodes.filter(node => node.parent === chosen.parent), here = row.indexOf(chosen);
    const below = this.nodes[at + 1];
    const to = {ArrowUp: chosen.parent, ArrowDown: below && below.parent === chosen ? below : null,
      ArrowLeft: row[here - 1], ArrowRight: row[here + 1]}[event.key];
    if (to) {
      const y = to.depth * this.rowHeight, box = this.box;
      if (y < box.scrollTop || y + this.rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y - this.rowHeight;
      this.choose(to);
    } else if (event.key === 'Enter') {
      this.zoomTo(chosen);
    } else if (event.key === 'Escape') {
      this.zoomTo(this.nodes[0]);
    } else if (!event.key.startsWith('Arrow')) {
      return;
    }
    event.preventDefault();
  }
  find() {
    this.wanted = this.search.value.toLowerCase();
    let bytes = 0, end = -1;
    for (const node of this.nodes) {
      if (!this.matches(node) || node.left < end) continue;
      bytes += node.bytes;
      end = node.left + node.value;
    }
    this.found.textContent = this.wanted === '' ? '' : percent(bytes, this.nodes[0].bytes) + ' of the bytes';
    this.draw();
  }
}
