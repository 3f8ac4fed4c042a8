'use strict';

// A table that sorts, filters, shows more rows on demand and exports what it shows as CSV.
// columns: {key, title, kind}; kind: text, count, bytes, ns, share, flag; a cell is row[key]. Texts come first.
// options: file (name of the CSV), about(column) -> a word before each number ("~"), sum (a line with sums),
// open(row): a button in the first column calls it.
class DataTable {
  constructor(parent, caption, columns, options) {
    Object.assign(this, {all: columns, columns, options, rows: [], shown: 20, descending: true, key: null});
    this.filter = element('input', {type: 'search', autocomplete: 'off', spellcheck: 'false'});
    this.status = element('span', {role: 'status'});
    const csv = element('button', {type: 'button'}, 'Save as CSV');
    const bar = element('div', {class: 'bar'}, element('label', {}, 'Filter ', this.filter), csv, this.status);
    this.head = element('tr');
    this.body = element('tbody');
    this.foot = element('tfoot');
    const table = element('table', {}, element('caption', {}, caption), element('thead', {}, this.head), this.body,
      this.foot);
    this.more = element('button', {type: 'button'}, 'More rows');
    parent.append(bar, element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}, table),
      this.more);
    this.filter.addEventListener('input', () => this.draw());
    csv.addEventListener('click', () => this.save());
    this.more.addEventListener('click', () => {
      this.shown *= 5;
      this.draw();
    });
    const narrow = matchMedia('(max-width: 40rem)');
    narrow.addEventListener('change', () => this.arrange(narrow.matches));
    this.arrange(narrow.matches);
  }
  // On a narrow screen numbers come before all texts but the first.
  arrange(narrow) {
    const texts = this.all.slice(1).filter(column => column.kind === 'text');
    const others = this.all.slice(1).filter(column => column.kind !== 'text');
    this.columns = narrow ? [this.all[0], ...others, ...texts] : this.all;
    this.draw();
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }
  sortBy(key, descending) {
    this.key = key;
    this.descending = descending;
    this.draw();
  }
  // Gives columns other titles, by their keys.
  retitle(titles) {
    for (const column of this.all) if (titles[column.key]) column.title = titles[column.key];
    this.headings();
  }

  static look(column) { return column.short ? 'short' : column.kind === 'text' ? 'text' : 'number'; }
  headings() {
    this.head.replaceChildren(...this.columns.map(column => {
      const button = element('button', {type: 'button'}, column.title);
      button.addEventListener('click', () => {
        const descending = this.key === column.key ? !this.descending : column.kind !== 'text';
        this.sortBy(column.key, descending);
        [...this.head.children][this.columns.indexOf(column)].querySelector('button').focus();
      });
      const cell = element('th', {scope: 'col', class: DataTable.look(column)}, button);
      if (column.key === this.key) {
        cell.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
        button.append(this.descending ? ' \u25BC' : ' \u25B2');
      }
      return cell;
    }));
  }
  chosen() {
    const word = this.filter.value.toLowerCase(), texts = this.columns.filter(column => column.kind === 'text');
    const rows = this.rows.filter(row => word === '' ||
      texts.some(column => String(row[column.key] ?? '').toLowerCase().includes(word)));
    if (this.key === null) return rows;
    const sign = this.descending ? -1 : 1;
    const order = (a, b) => typeof a === 'string' || typeof b === 'string' ?
      String(a ?? '').localeCompare(String(b ?? '')) : (a ?? -1) - (b ?? -1);
    return rows.map((row, i) => [row, i])
      .sort(([a, i], [b, k]) => sign * order(a[this.key], b[this.key]) || i - k).map(([row]) => row);
  }
  draw() {
    this.headings();
    const rows = this.chosen();
    this.body.replaceChildren(...rows.slice(0, this.shown).map(row => this.line(row)));
    this.foot.replaceChildren();
    if (this.options.sum && rows.length) {
      const sum = {[this.columns[0].key]: this.filter.value ? 'Sum of what is filtered' : 'Sum'};
      for (const column of this.columns) {
        if (['count', 'bytes'].includes(column.kind) && !column.single)
          sum[column.key] = rows.reduce((all, row) => all + (row[column.key] ?? 0), 0);
      }
      this.foot.append(this.line(sum, 'th'));
    }
    const shown = Math.min(this.shown, rows.length);
    this.status.textContent = `${count(shown)} of ${count(rows.length)} rows shown` +
      (rows.length < this.rows.length ? `, filtered from ${count(this.rows.length)}` : '');
    this.more.hidden = shown === rows.length;
  }
  line(row, tag = 'td') {
    return element('tr', {}, ...this.columns.map((column, i) => {
      const text = this.cell(column, row[column.key]);
      const cell = element(i === 0 ? 'th' : tag, {class: DataTable.look(column)});
      if (i === 0) cell.setAttribute('scope', 'row');
      if (i === 0 && this.options.open && tag === 'td') {
        const button = element('button', {type: 'button', class: 'open', title: text}, ...breakable(shortened(text)));
        button.addEventListener('click', () => this.options.open(row));
        cell.append(button);
      } else {
        cell.append(...(column.kind === 'text' ? folded(text) : [text]));
      }
      return cell;
    }));
  }
  cell(column, value) {
    if (value === null || value === undefined || value === '') return '';
    if (column.kind === 'text') return value;
    if (column.kind === 'ns') return duration(value);
    if (column.kind === 'share') return (100 * value).toFixed(1) + ' %';
    if (column.kind === 'size') return size(value);
    if (column.kind === 'mean') return value.toFixed(1);
    return (this.options.about ? this.options.about(column) : '') + count(value);
  }

  // Fields as RFC 4180 says. A text that a spreadsheet would compute gets a quotation mark in front.
  csv() {
    const field = value => {
      let text = String(value ?? '');
      if (typeof value === 'string' && /^[=+\-@\t]/.test(text)) text = "'" + text;
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    };
    const lines = [this.all.map(column => field(column.key)).join(',')];
    for (const row of this.chosen()) lines.push(this.all.map(column => field(row[column.key])).join(','));
    return lines.join('\n') + '\n';
  }
  save() {
    const url = URL.createObjectURL(new Blob([this.csv()], {type: 'text/csv'}));
    const link = element('a', {href: url, download: this.options.file + '.csv'});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }
}
