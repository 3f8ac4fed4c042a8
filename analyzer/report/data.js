'use strict';

// What the page shows, made from the data in it: rows of amounts by measure and moment, and the trees of calls and
// classes.
class Model {
  constructor(data) {
    this.data = data;
    const text = number => number === null || number === undefined ? '' : data.texts[number];
    this.text = text;
    const rows = data.rows;
    this.rows = rows.site.map((site, i) => ({
      site: text(site), class: text(rows.class[i]), application: text(rows.application[i]),
      // Of many sites: all others, or those of a class.
      many: i >= rows.sites, other: rows.others > 0 && i === rows.site.length - 1}));
    this.gcs = data.gcs.id.map((id, i) => ({
      id, kind: text(data.gcs.kind[i]) || 'pause', cause: text(data.gcs.cause[i]), begin: data.gcs.begin[i],
      end: data.gcs.end[i], moved: data.gcs.moved[i], live: data.gcs.live_bytes[i],
      objects: data.gcs.live_objects[i],
      counting: data.gcs.counting?.[i], withDead: data.gcs.with_dead?.[i] ?? false}));
    this.moments = data.moments;
    this.measures = data.censuses ? ['live'] : ['allocated', 'survived', 'live'];
    this.word = data.censuses ? {one: 'census', many: 'censuses'} : {one: 'collection', many: 'collections'};
    this.live = new Map();
  }

  // Amounts of each row: {objects: [], bytes: []}.
  amounts(measure, moment) {
    if (measure !== 'live') return this.data.rows[measure];
    if (this.live.has(moment)) return this.live.get(moment);
    const amounts = {objects: new Array(this.rows.length).fill(0), bytes: new Array(this.rows.length).fill(0)};
    const live = this.moments.length ? this.moments[moment].live : [];
    for (let i = 0; i < live.length; i += 3) {
      amounts.objects[live[i]] = live[i + 1];
      amounts.bytes[live[i]] = live[i + 2];
    }
    this.live.set(moment, amounts);
    return amounts;
  }
  estimated(measure) { return measure === 'allocated' ? this.data.allocated_estimated : this.data.live_estimated; }

  // The last moment; of censuses the last one that says what is live, if there is one.
  lastMoment() {
    const last = Math.max(0, this.moments.length - 1);
    for (let at = last; at >= 0 && this.moments.length; at--)
      if (this.moments[at].gc === null || !this.gcs[this.moments[at].gc].withDead) return at;
    return last;
  }
  // The moment that is nearest to that time.
  nearestMoment(time) {
    let best = 0;
    this.moments.forEach((moment, i) => {
      if (Math.abs(this.timeOf(i) - time) < Math.abs(this.timeOf(best) - time)) best = i;
    });
    return best;
  }
  timeOf(moment) {
    const at = this.moments[moment].gc;
    return at === null ? this.data.duration : this.gcs[at].end;
  }
  labelOf(moment) { return this.moments.length ? this.moments[moment].text : 'never'; }

  shortLabelOf(moment) {
    const at = this.moments.length ? this.moments[moment].gc : null;
    return at === null ? 'at the end' : 'after GC ' + this.gcs[at].id;
  }

  // Nodes for FlameGraph: the calls above the rows, and the classes at their ends.
  flame(measure, moment, unit) {
    const amounts = this.amounts(measure, moment), calls = this.data.calls;
    const nodes = calls.name.map(name => ({name: this.text(name), bytes: 0, objects: 0, children: []}));
    if (!nodes.length) nodes.push({name: 'all', bytes: 0, objects: 0, children: []});
    const classes = new Map();
    const add = (node, i, share) => {
      const row = this.rows[i], key = node + '\n' + row.class;
      if (!classes.has(key)) {
        const leaf = {name: row.other ? row.site : row.many ? `${row.class}, ${row.site}` : row.class, bytes: 0, objects: 0, children: []};
        classes.set(key, leaf);
        nodes[node].children.push(leaf);
      }
      const leaf = classes.get(key);
      leaf.bytes += amounts.bytes[i] * share;
      leaf.objects += amounts.objects[i] * share;
    };
    this.rows.forEach((row, i) => {
      if (!amounts.bytes[i] && !amounts.objects[i]) return;
      const parts = calls.rows[i] || [];
      let all = 0;
      for (let k = 1; k < parts.length; k += 2) all += parts[k];
      if (!all) add(0, i, 1);
      for (let k = 0; k < parts.length; k += 2) add(parts[k], i, parts[k + 1] / all);
    });
    const total = node => {
      for (const child of node.children) {
        node.bytes += child.bytes;
        node.objects += child.objects;
      }
    };
    for (let i = nodes.length - 1; i >= 0; i--) {
      total(nodes[i]);
      if (i > 0) nodes[calls.parent[i]].children.push(nodes[i]);
    }
    return Model.preorder(nodes[0], unit);
  }
  static preorder(root, unit) {
    const list = [], least = root[unit] / 10000;
    const open = [[root, null, 0, 0]];
    while (open.length) {
      const [node, parent, depth, left] = open.pop();
      const shown = {depth, name: node.name, value: node[unit], bytes: node.bytes, objects: node.objects, parent, left};
      list.push(shown);
      const children = node.children.filter(child => child[unit] > least).sort((a, b) => b[unit] - a[unit]);
      let end = left;
      const placed = children.map(child => {
        const at = end;
        end += child[unit];
        return [child, shown, depth + 1, at];
      });
      for (const each of placed.reverse()) open.push(each);
    }
    return list;
  }

  // Groups for Treemap: [{name, value, bytes, objects, items: [the same without items]}], by package and class, or by
  // class and site.
  groups(measure, moment, unit, by) {
    const amounts = this.amounts(measure, moment), groups = new Map();
    const into = (map, name) => {
      if (!map.has(name)) map.set(name, {name, value: 0, bytes: 0, objects: 0, items: new Map()});
      return map.get(name);
    };
    this.rows.forEach((row, i) => {
      if (!amounts[unit][i]) return;
      const outer = by === 'package' ? Model.packageOf(row) : row.class;
      const inner = by === 'package' ? row.class : row.site;
      const group = into(groups, outer);
      for (const each of [group, into(group.items, inner)]) {
        each.value += amounts[unit][i];
        each.bytes += amounts.bytes[i];
        each.objects += amounts.objects[i];
      }
    });
    const sorted = map => [...map.values()].sort((a, b) => b.value - a.value);
    return sorted(groups).map(group => ({...group, items: sorted(group.items)}));
  }
  static packageOf(row) {
    if (row.other) return '(other)';
    const name = row.class.replace(/\[\]/g, '');
    if (!name.includes('.')) return row.class.endsWith('[]') ? '(primitive arrays)' : '(no package)';
    return name.slice(0, name.lastIndexOf('.', name.includes('/') ? name.indexOf('/') : undefined));
  }
}
