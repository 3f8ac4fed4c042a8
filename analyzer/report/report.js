'use strict';

// The page of `report`: its parts, and what they show when another collection or measure is chosen.
const byId = id => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const model = new Model(data);
const state = {measure: model.measures[0], unit: 'bytes', moment: model.lastMoment(), by: 'package'};
const measureNames = {allocated: 'allocated', survived: 'survived a collection', live: 'live'};

function measureText() {
  const about = model.estimated(state.measure) ? ', estimated' : '';
  return measureNames[state.measure] + (state.measure === 'live' ? ' ' + model.labelOf(state.moment) : '') + about;
}

// Without columns that no row may have.
function used(columns, rows) {
  return columns.filter(({key}) => !['application', 'oldest_ns'].includes(key) || rows.some(row => row[key]));
}

function showHead() {
  for (const [name, text] of data.head) {
    byId('head').append(element('dt', {}, name), element('dd', {}, ...folded(text, 300)));
  }
  const program = data.head.find(([name]) => name === 'Program');
  if (program) {
    const main = program[1].split(' ')[0];
    byId('title').textContent = 'AntTracks report: ' + (main.length > 80 ? main.slice(0, 80) + '…' : main);
    document.title = byId('title').textContent;
  }
  for (const note of data.notes) byId('notes').append(element('p', {class: 'note'}, note));
  const all = data.gcs.all, drawn = model.gcs.length, moments = model.moments.length, {one, many} = model.word;
  byId('time-note').textContent = (all === 0 ? `No ${one} is in the trace.` :
    `A click on a plot chooses a ${one}; so do the arrow keys on the slider below. What is live by site is in this ` +
    `page for ${moments} of ${count(all)} ${all === 1 ? one : many}.`) +
    (drawn < all ? ` Drawn are ${count(drawn)} ${many}: those, and from equal parts of the others ` +
      (data.censuses ? 'the first.' : 'the longest.') : '');
  const {others, sites, in_classes: inClasses} = data.rows;
  const rest = [inClasses ? `${count(inClasses)} smaller ones are a row for each class` : '',
    others ? `${inClasses ? '' : 'the other '}${count(others)} ${inClasses ? 'others ' : ''}are one row` : ''].filter(Boolean);
  byId('rows-note').textContent = !rest.length ? `All ${count(sites)} sites and classes are shown.` :
    `The ${count(sites)} largest sites and classes are shown; ${rest.join(', ')}, so that sums are complete.`;
  byId('calls-note').textContent = data.calls.note + '. The class that is allocated is at the end of each path.';
}

const siteColumns = [
  {key: 'class', title: 'Class', kind: 'text'}, {key: 'site', title: 'Site', kind: 'text'},
  {key: 'application', title: 'Application', kind: 'text'},
  ...model.measures.flatMap(measure => {
    const name = measure[0].toUpperCase() + measure.slice(1), interval = model.data.rows[measure]?.low;
    return [{key: measure + '_objects', title: name + ' objects', kind: 'count', measure},
      {key: measure + '_bytes', title: name + ' bytes', kind: 'bytes', measure},
      ...(interval ? [{key: measure + '_bytes_low', title: '95 % from', kind: 'bytes', measure},
        {key: measure + '_bytes_high', title: 'to', kind: 'bytes', measure}] : [])];
  })];
function siteRows() {
  return model.rows.map((row, i) => {
    const cells = {...row};
    for (const measure of model.measures) {
      const amounts = model.amounts(measure, state.moment);
      cells[measure + '_objects'] = amounts.objects[i];
      cells[measure + '_bytes'] = amounts.bytes[i];
      if (!amounts.low) continue;
      cells[measure + '_bytes_low'] = amounts.low[i];
      cells[measure + '_bytes_high'] = amounts.high[i];
    }
    return cells;
  });
}

const timeline = new Timeline(byId('timeline'), model, moment => chooseMoment(moment));
const sites = new DataTable(byId('sites-table'), 'Sites and classes', used(siteColumns, model.rows), {
  file: 'sites', sum: true, about: column => column.measure && model.estimated(column.measure) ? '~' : ''});
const treemap = new Treemap(byId('treemap'), name => {
  sites.filter.value = name;
  sites.draw();
  byId('sites').scrollIntoView();
  sites.filter.focus();
});
const flame = new FlameGraph(byId('flame'), 'Calls that lead to what is chosen');

function update() {
  timeline.draw(state.moment);
  treemap.show(model.groups(state.measure, state.moment, state.unit, state.by), measureText());
  flame.show(model.flame(state.measure, state.moment, state.unit));
  const label = model.labelOf(state.moment), when = model.shortLabelOf(state.moment);
  sites.retitle({live_objects: 'Live objects ' + when, live_bytes: 'Live bytes ' + when});
  sites.rows = siteRows();
  sites.sortBy(`${state.measure}_${state.unit}`, true);
  byId('moment').value = state.moment;
  byId('moment').setAttribute('aria-valuetext', label);
  byId('moment-text').textContent = measureText();
  for (const radio of byId('choose').elements.measure) radio.checked = radio.value === state.measure;
}
function chooseMoment(moment) {
  if (!model.moments.length) return;
  state.moment = Math.min(model.moments.length - 1, Math.max(0, moment));
  state.measure = 'live';
  update();
}

// What censuses do not tell is not there to be chosen.
function leaveOutMeasures() {
  for (const radio of byId('choose').elements.measure) radio.closest('label').hidden = model.measures.length === 1;
}

function listen() {
  byId('moment').max = Math.max(0, model.moments.length - 1);
  byId('choose').addEventListener('submit', event => event.preventDefault());
  byId('moment').addEventListener('input', () => chooseMoment(Number(byId('moment').value)));
  byId('before').addEventListener('click', () => chooseMoment(state.moment - 1));
  byId('after').addEventListener('click', () => chooseMoment(state.moment + 1));
  for (const radio of byId('choose').elements.measure) {
    radio.addEventListener('change', () => {
      state.measure = radio.value;
      update();
    });
  }
  for (const id of ['unit', 'by']) {
    byId(id).addEventListener('change', () => {
      state[id] = byId(id).value;
      update();
    });
  }
}

function showLeaks() {
  const {note, rows} = data.leaks;
  byId('leaks-note').textContent = note;
  const named = rows.map(row => ({...row, site: model.text(row.site), class: model.text(row.class),
    application: model.text(row.application), then_bytes: row.then[1], now_bytes: row.now[1],
    now_objects: row.now[0]}));
  const chart = (parent, row) => {
    const from = row.application && row.application !== row.site ? ` from ${row.application}` : '';
    historyChart(parent, `${row.class}, ${row.site}${from}: ${row.verdict}`, row.history, data.duration, row.since_gc);
  };
  for (const row of named.filter(row => row.leaks).slice(0, 6)) chart(byId('histories'), row);
  if (!named.length) return;
  byId('leaks-table').append(element('p', {class: 'faint'},
    'A site in the table shows its history below it. Squares are old-space collections, after which only live objects are left.'));
  const table = new DataTable(byId('leaks-table'), 'Sites that grow, and why they are a leak or none', used([
    {key: 'site', title: 'Site', kind: 'text'}, {key: 'class', title: 'Class', kind: 'text'},
    {key: 'application', title: 'Application', kind: 'text'}, {key: 'verdict', title: 'Verdict', kind: 'text', short: true},
    {key: 'since_gc', title: 'Since GC', kind: 'count', single: true},
    {key: 'then_bytes', title: 'Bytes then', kind: 'bytes'}, {key: 'now_bytes', title: 'Bytes now', kind: 'bytes'},
    {key: 'now_objects', title: 'Objects now', kind: 'count'},
    {key: 'bytes_per_gc', title: 'Per GC', kind: 'size'}, {key: 'bytes_per_minute', title: 'Per minute', kind: 'size'},
    {key: 'oldest_ns', title: 'Oldest', kind: 'ns'}, {key: 'share', title: 'Of growth', kind: 'share'}], named),
  {file: 'leaks', open: row => {
    byId('history').replaceChildren();
    chart(byId('history'), row);
    byId('history').scrollIntoView({block: 'nearest'});
  }});
  table.show(named);
}

const lifetimeTitles = {
  'objects': 'Allocated objects', 'bytes': 'Allocated bytes', 'died_young/objects': 'Died young objects',
  'died_young/bytes': 'Died young bytes', 'died_old/objects': 'Died old objects', 'died_old/bytes': 'Died old bytes',
  'live/objects': 'Live objects', 'live/bytes': 'Live bytes', 'survived/mean': 'Collections survived, mean',
  'copied/objects': 'Copied objects', 'copied/bytes': 'Copied bytes', 'promoted/bytes': 'Promoted bytes',
  'byte_seconds': 'Held, byte-seconds', 'promoted_then_dead/bytes': 'Promoted and dead bytes',
  'pretenuring_saves/bytes': 'Pretenuring would save'};
function showLifetimes() {
  const {note, columns, rows, others} = data.lifetimes;
  byId('lifetimes-note').textContent = note || (others ?
    `The ${count(rows.length - 1)} sites and classes that were copied most; the other ${count(others)} are one row.` :
    'How long objects of each site and class live, and what copying them costs.');
  if (!rows.length) return;
  const estimated = key => data.allocated_estimated && /^(objects|bytes|died_young)/.test(key);
  const keys = ['class', 'site', 'application', ...columns];
  const named = rows.map(([site, type, application, ...numbers]) => Object.fromEntries(
    [model.text(type), model.text(site), model.text(application), ...numbers].map((cell, i) => [keys[i], cell])));
  const table = new DataTable(byId('lifetimes-table'), 'Lifetimes', used([
    {key: 'class', title: 'Class', kind: 'text'}, {key: 'site', title: 'Site', kind: 'text'},
    {key: 'application', title: 'Application', kind: 'text'},
    ...columns.map(key => ({key, title: lifetimeTitles[key] || key,
      kind: key === 'survived/mean' ? 'mean' : key.endsWith('objects') ? 'count' : 'bytes'}))], named),
  {file: 'lifetimes', sum: true, about: column => estimated(column.key) ? '~' : ''});
  table.rows = named;
  table.sortBy('copied/bytes', true);
}

const collectionColumns = spaces => [
  {key: 'id', title: 'GC', kind: 'count', single: true}, {key: 'kind', title: 'Kind', kind: 'text', short: true},
  {key: 'cause', title: 'Cause', kind: 'text', short: true}, {key: 'begin', title: 'At', kind: 'ns'},
  {key: 'pause', title: 'Pause', kind: 'ns'},
  ...(spaces.length ? [{key: 'before', title: 'Used before', kind: 'bytes', single: true},
    {key: 'after', title: 'Used after', kind: 'bytes', single: true},
    {key: 'moved', title: 'Moved bytes', kind: 'bytes'}] : []),
  {key: 'objects', title: 'Live objects', kind: 'count', single: true},
  {key: 'live', title: 'Live bytes', kind: 'bytes', single: true}];
const censusColumns = [
  {key: 'id', title: 'After GC', kind: 'count', single: true}, {key: 'kind', title: 'Kind', kind: 'text', short: true},
  {key: 'old_space', title: 'Old space', kind: 'text', short: true}, {key: 'begin', title: 'At', kind: 'ns'},
  {key: 'counting', title: 'Counting took', kind: 'ns'},
  {key: 'after', title: 'Used after', kind: 'bytes', single: true},
  {key: 'objects', title: 'Counted objects', kind: 'count', single: true},
  {key: 'live', title: 'Counted bytes', kind: 'bytes', single: true}];
function showCollections() {
  const {all, spaces} = data.gcs, {many} = model.word, title = many[0].toUpperCase() + many.slice(1);
  for (const id of ['collections', 'collections-link']) byId(id).textContent = title;
  byId('collections-note').textContent = model.gcs.length < all ?
    `${count(model.gcs.length)} of ${count(all)} ${many}; see above which.` : '';
  if (!model.gcs.length) return;
  const inUse = (i, when) => spaces.reduce((sum, space) => sum + space[when][i], 0);
  const table = new DataTable(byId('collections-table'),
    title + ' (a number chooses that one, or the nearest that can be chosen)',
    data.censuses ? censusColumns : collectionColumns(spaces),
  {file: many, about: column => data.live_estimated && ['objects', 'live'].includes(column.key) ? '~' : '',
    open: row => chooseMoment(model.nearestMoment(row.end))});
  table.show(model.gcs.map((gc, i) => ({...gc, pause: gc.end - gc.begin,
    old_space: gc.withDead ? 'with what is dead' : 'looked into', before: inUse(i, 'before'),
    after: inUse(i, 'after')})));
}

showHead();
leaveOutMeasures();
listen();
update();
showLeaks();
showLifetimes();
showCollections();
