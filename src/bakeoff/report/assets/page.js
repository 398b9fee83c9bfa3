// What report pages do by themselves: tables sort, filter, and show many rows in portions. Without it all is there, too.
'use strict';
const PORTION = 500;

class Table {
  constructor(table) {
    this.table = table;
    this.bodies = [...table.tBodies];
    this.rows = [...table.querySelectorAll(':scope > tbody > tr')];
    this.order = this.rows;
    this.wanted = () => true;
    this.limit = PORTION;
    this.paged = this.bodies.some(body => body.hidden);
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, column) => head.querySelector('button')?.addEventListener('click', () => this.sort(column)));
    if (this.paged) this.pager();
  }

  pager() {
    const line = document.createElement('p');
    line.className = 'more';
    this.note = line.appendChild(document.createElement('span'));
    this.note.className = 'quiet';
    const button = (act) => {
      const made = line.appendChild(document.createElement('button'));
      made.type = 'button';
      made.onclick = () => { act(); this.draw(); };
      return made;
    };
    this.next = button(() => { this.limit += PORTION; });
    this.all = button(() => { this.limit = Infinity; });
    this.table.parentElement.after(line);
    this.says(this.rows.length);
  }

  // What stands below a table that has more rows than it shows.
  says(count) {
    if (!this.paged) return;
    const left = Math.max(0, count - this.limit);
    this.note.textContent = left ? `${this.limit.toLocaleString('en')} of ${count.toLocaleString('en')} rows are shown.` : '';
    this.next.textContent = `Show ${Math.min(PORTION, left).toLocaleString('en')} more`;
    this.all.textContent = `Show all ${count.toLocaleString('en')}`;
    this.next.hidden = this.all.hidden = !left;
  }

  // Rows in their order, those that are wanted, as many as the limit allows.
  draw() {
    const on = this.order.filter(this.wanted), shown = new Set(on.slice(0, this.limit));
    for (const row of this.rows) row.hidden = !shown.has(row);
    if (this.placed !== this.order) {
      this.bodies[0].append(...this.order);
      this.placed = this.order;
      for (const body of this.bodies) body.hidden = false;
    }
    this.says(on.length);
    return on.length;
  }

  // Upwards, downwards, as it was.
  sort(column) {
    const head = this.heads[column], before = head.getAttribute('aria-sort');
    const now = before === 'ascending' ? 'descending' : before === 'descending' ? null : 'ascending';
    for (const one of this.heads) one.removeAttribute('aria-sort');
    if (now) head.setAttribute('aria-sort', now);
    this.table.classList.toggle('sorted', Boolean(now));
    this.order = now ? sorted(this.rows, column, head.classList.contains('num'), now === 'ascending' ? 1 : -1) : this.rows.slice();
    this.draw();
  }

  reveal(row) {
    if (!row.closest('tbody[hidden]') && !row.hidden) return;
    this.limit = Math.max(this.limit, this.order.filter(this.wanted).indexOf(row) + 1);
    this.draw();
  }
}

// Rows by a column: by the cell's own value for sorting where it has one; what has none, or no number, comes last.
function sorted(rows, column, numbers, way) {
  const keyed = rows.map((row, place) => {
    const cell = row.cells[column], given = cell?.dataset.v, text = given ?? cell?.textContent.trim() ?? '';
    const number = numbers || given !== undefined ? parseFloat(text.replaceAll(',', '')) : NaN;
    return {row, place, text, number, empty: text === '' || text === '-' || (numbers && Number.isNaN(number))};
  });
  const compare = new Intl.Collator('en', {numeric: true}).compare;
  keyed.sort((a, b) => {
    if (a.empty || b.empty) return a.empty - b.empty || a.place - b.place;
    const both = !Number.isNaN(a.number) && !Number.isNaN(b.number);
    return way * (both ? a.number - b.number : compare(a.text, b.text)) || a.place - b.place;
  });
  return keyed.map(one => one.row);
}

const tables = [...document.querySelectorAll('table')].filter(table => table.tHead).map(table => new Table(table));
const steps = tables.find(one => one.table.id === 'steps');
const query = document.getElementById('q'), kind = document.getElementById('s'), found = document.getElementById('n');

function filter() {
  const text = query.value.toLowerCase(), value = kind.value;
  if (text) for (const row of steps.rows) row.searched ??= row.textContent.toLowerCase();
  steps.wanted = row => (!value || row.dataset.s === value) && (!text || row.searched.includes(text));
  steps.limit = PORTION;
  found.textContent = `${steps.draw().toLocaleString('en')} of ${steps.rows.length.toLocaleString('en')}`;
}

function follow() {
  const row = document.getElementById(location.hash.slice(1));
  if (!row || !steps?.rows.includes(row)) return;
  if (!steps.wanted(row)) { query.value = kind.value = ''; filter(); }
  steps.reveal(row);
  row.scrollIntoView({block: 'center'});
}

if (steps && query) {
  let wait;
  query.oninput = () => { clearTimeout(wait); wait = setTimeout(filter, 150); };
  kind.onchange = filter;
  found.textContent = `${steps.rows.length.toLocaleString('en')} of ${steps.rows.length.toLocaleString('en')}`;
  addEventListener('hashchange', follow);
  if (location.hash) follow();
}
