'use strict';

// Plots over time, as SVG. What a colour says is also said by a pattern, a shape or a word.

// The same as element(), of SVG.
function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS(document.querySelector('svg').namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Of spaces, from the bottom to the top.
const spaceOrder = ['archive', 'old', 'humongous', 'survivor', 'eden'];
// The marks of collections, around 0 0.
const marks = {
  young: 'M0-4A4 4 0 1 0 .01-4Z', mixed: 'M0-5L5 0L0 5L-5 0Z', full: 'M-4-4H4V4H-4Z', remark: 'M0-5L5 4H-5Z',
  pause: 'M0-4A4 4 0 1 0 .01-4Z', unknown: 'M-4-4L4 4M4-4L-4 4'};
const meanings = {
  young: 'circle: young', mixed: 'diamond: mixed', full: 'square: full', remark: 'triangle: remark',
  pause: 'circle: pause', unknown: 'cross: unknown'};

function mark(kind, x, y, more = '') {
  return drawing('path', {d: marks[kind] || marks.unknown, class: 'mark mark-' + kind + more,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`});
}

// A plot with a time axis. height: of all of it; most: the largest value; ticks: how values are written.
class Plot {
  constructor(parent, label, height) {
    this.height = height;
    this.svg = drawing('svg', {class: 'plot', role: 'img', 'aria-label': label, height});
    parent.append(this.svg);
  }
  begin(span, most, ticks) {
    this.width = Math.max(200, this.svg.clientWidth);
    Object.assign(this, {left: 66, right: this.width - 10, top: 12, bottom: this.height - 24, span: span || 1});
    this.empty = !(most > 0);
    this.most = this.empty ? 1 : most;
    this.svg.replaceChildren();
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    this.grid(ticks);
  }
  x(time) { return this.left + (this.right - this.left) * Math.min(1, Math.max(0, time / this.span)); }
  y(value) { return this.bottom - (this.bottom - this.top) * Math.min(1, value / this.most); }
  timeAt(event) {
    const at = this.svg.getBoundingClientRect(), x = (event.clientX - at.left) * this.width / at.width;
    return this.span * (x - this.left) / (this.right - this.left);
  }
  grid(ticks) {
    const step = 2 ** Math.ceil(Math.log2(this.most / Math.max(2, (this.bottom - this.top) / 32)));
    const decimal = ticks === duration, round = decimal ? Plot.nice(this.most / 3) : step;
    for (let value = 0; value <= (this.empty ? 0 : this.most * 1.0001); value += round) {
      this.svg.append(drawing('path', {class: 'grid', d: `M${this.left} ${this.y(value)}H${this.right}`}),
        this.label(this.left - 6, this.y(value) + 4, ticks(value), 'end'));
    }
    const every = Plot.nice(this.span / Math.max(2, Math.floor((this.right - this.left) / 110)));
    for (let time = 0; time <= this.span * 1.0001; time += every)
      this.svg.append(this.label(this.x(time), this.height - 5, time ? duration(time) : '0',
        this.x(time) > this.right - 24 ? 'end' : 'middle'));
  }
  label(x, y, text, anchor) { return drawing('text', {x, y, 'text-anchor': anchor}, text); }
  static nice(least) {
    const power = 10 ** Math.floor(Math.log10(least || 1));
    return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least * .999);
  }
  path(points, kind) {
    this.svg.append(drawing('path', {class: kind,
      d: points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')}));
  }
  line(time, kind, text) {
    const x = this.x(time);
    this.svg.append(drawing('path', {class: kind, d: `M${x} ${this.top}V${this.bottom}`}));
    if (text) this.svg.append(this.label(x + (x > this.right - 90 ? -4 : 4), this.top + 9, text, x > this.right - 90 ? 'end' : 'start'));
  }
}

// The heap, the rate of allocation and the pauses, if they are known, over the whole trace; select(moment) when a collection is clicked.
class Timeline {
  constructor(parent, model, select) {
    this.model = model;
    this.spaces = spaceOrder.map(name => model.data.gcs.spaces.find(space => space.name === name)).filter(Boolean);
    const figure = (title, label, height) => {
      const box = element('figure', {}, element('figcaption', {}, title));
      parent.append(box);
      return new Plot(box, label, height);
    };
    const about = model.data.live_estimated ? 'Live heap, estimated' : 'Heap by space, and what is live';
    this.heap = figure(about, about + ' over time', 230);
    this.legend(this.heap.svg.parentNode);
    const rate = model.data.censuses ? 'Allocation rate from one census to the next' :
      model.data.allocated_estimated ? 'Allocation rate, estimated' : 'Allocation rate';
    this.rate = figure(rate + ' (bytes per second)', 'Allocation rate over time', 120);
    this.pauses = model.data.censuses ? null : figure('Pauses', 'Length of each pause over time', 120);
    if (this.pauses) this.kinds(this.pauses.svg.parentNode);
    this.plots = [this.heap, this.rate, this.pauses].filter(Boolean);
    for (const plot of this.plots) {
      plot.svg.addEventListener('click', event => {
        if (model.moments.length) select(model.nearestMoment(plot.timeAt(event)));
      });
    }
    window.addEventListener('resize', () => this.draw(this.moment));
  }
  legend(parent) {
    const items = this.spaces.map(space => {
      const swatch = drawing('svg', {class: 'swatch', width: 22, height: 14, 'aria-hidden': 'true'},
        drawing('rect', {width: 22, height: 14, class: 'space-' + space.name, fill: `url(#pattern-${space.name})`}));
      return element('span', {}, swatch, ' ' + space.name);
    });
    const live = element('span', {}, drawing('svg', {class: 'swatch', width: 26, height: 14, 'aria-hidden': 'true'},
      drawing('path', {class: 'live', d: 'M0 7H26'}), drawing('circle', {class: 'moment', cx: 13, cy: 7, r: 4})),
      ' line: live; dots: can be chosen');
    const sync = this.model.data.syncs.length ? [element('span', {}, 'dashed: sync point')] : [];
    const dead = this.model.gcs.some(gc => gc.withDead) ?
      [element('span', {}, 'dashed dots: with what is dead in the old space')] : [];
    parent.append(element('div', {class: 'legend'}, ...items, live, ...dead, ...sync));
  }
  kinds(parent) {
    const shapes = [...new Set(this.model.gcs.map(gc => gc.kind))].map(kind => {
      const swatch = drawing('svg', {class: 'swatch', width: 14, height: 14, viewBox: '-7 -7 14 14', 'aria-hidden': 'true'},
        mark(kind, 0, 0));
      return element('span', {}, swatch, ' ' + (meanings[kind] || meanings.unknown));
    });
    parent.append(element('div', {class: 'legend'}, ...shapes));
  }

  draw(moment) {
    this.moment = moment;
    this.drawHeap();
    this.drawRate();
    if (this.pauses) this.drawPauses();
    if (!this.model.moments.length) return;
    const time = this.model.timeOf(moment);
    this.heap.line(time, 'chosen', 'chosen');
    for (const plot of this.plots.slice(1)) plot.line(time, 'chosen');
  }
  drawHeap() {
    const {gcs, data} = this.model, plot = this.heap;
    const sum = (i, when) => this.spaces.reduce((all, space) => all + space[when][i], 0);
    const most = gcs.reduce((max, gc, i) => Math.max(max, sum(i, 'before'), sum(i, 'after'), gc.live ?? 0), 0);
    plot.begin(data.duration, most, size);
    const base = gcs.flatMap(gc => [[plot.x(gc.begin), 0], [plot.x(gc.end), 0]]);
    for (const space of this.spaces) {
      const top = base.map(([x, value], i) => [x, value + space[i % 2 ? 'after' : 'before'][i >> 1]]);
      const outline = [...top.map(([x, v]) => [x, plot.y(v)]), ...base.map(([x, v]) => [x, plot.y(v)]).reverse()];
      plot.path(outline, 'space-' + space.name);
      plot.svg.lastChild.setAttribute('fill', `url(#pattern-${space.name})`);
      top.forEach((point, i) => { base[i][1] = point[1]; });
    }
    for (const [time] of data.syncs) plot.line(time, 'sync');
    plot.path(gcs.filter(gc => gc.live !== null && !gc.withDead).map(gc => [plot.x(gc.end), plot.y(gc.live)]), 'live');
    for (const {gc} of this.model.moments) {
      if (gc === null || gcs[gc].live === null) continue;
      plot.svg.append(drawing('circle', {class: gcs[gc].withDead ? 'moment with-dead' : 'moment',
        cx: plot.x(gcs[gc].end), cy: plot.y(gcs[gc].live), r: 4}));
    }
    if (!gcs.length) plot.svg.append(plot.label(plot.left + 10, 60, `no ${this.model.word.one} in the trace`, 'start'));
  }
  drawRate() {
    const {rate, duration: whole} = this.model.data, plot = this.rate, perSecond = 1e9 / rate.period;
    const last = Math.max(whole, rate.bytes.length * rate.period);
    plot.begin(whole, rate.bytes.reduce((max, bytes) => Math.max(max, bytes), 0) * perSecond, size);
    // What was allocated before the first census is not known.
    const known = this.model.data.censuses && this.model.gcs.length ? Math.floor(this.model.gcs[0].end / rate.period) : 0;
    const points = [[plot.x(known * rate.period), plot.bottom]];
    rate.bytes.forEach((bytes, i) => {
      if (i < known) return;
      const y = plot.y(bytes * perSecond);
      points.push([plot.x(i * rate.period), y], [plot.x(Math.min(last, (i + 1) * rate.period)), y]);
    });
    points.push([points[points.length - 1][0], plot.bottom]);
    plot.path(points, 'rate');
  }
  drawPauses() {
    const {gcs, data} = this.model, plot = this.pauses;
    plot.begin(data.duration, gcs.reduce((max, gc) => Math.max(max, gc.end - gc.begin), 0), duration);
    plot.path([[plot.left, plot.bottom], [plot.right, plot.bottom]], 'grid');
    for (const gc of gcs) {
      const x = plot.x(gc.begin), y = plot.y(gc.end - gc.begin);
      plot.svg.append(drawing('path', {class: 'stem', d: `M${x} ${plot.bottom}V${y}`}), mark(gc.kind, x, y));
    }
  }
}

// What was live of one row after each collection. points: [gc, time, objects, bytes, old].
function historyChart(parent, title, points, span, since) {
  const figure = element('figure', {class: 'history'}, element('figcaption', {}, ...folded(title, 400)));
  parent.append(figure);
  const plot = new Plot(figure, 'Live bytes over time: ' + title, 150);
  const draw = () => {
    plot.begin(span, points.reduce((most, point) => Math.max(most, point[3]), 0), size);
    plot.path(points.map(point => [plot.x(point[1]), plot.y(point[3])]), 'live');
    for (const point of points)
      if (point[4]) plot.svg.append(mark('full', plot.x(point[1]), plot.y(point[3]), ' old-space'));
    const begin = points.find(point => point[0] >= since);
    if (begin) plot.line(begin[1], 'sync', 'growth begins');
  };
  draw();
  window.addEventListener('resize', draw);
}
