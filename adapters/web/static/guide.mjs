// Adds a button to copy each block of code of a guide, and tabs for the same part in several
// languages.
import { element } from './dom.mjs';

const languages = ['Python', 'Go', 'TypeScript'];

for (const code of document.querySelectorAll('.prose pre')) {
  const button = element('button', 'plain copy', 'Copy');
  button.type = 'button';
  button.addEventListener('click', async () => {
    const text = code.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch { // the browser allows it only on secure pages
      getSelection().selectAllChildren(code);
      button.textContent = 'Press Ctrl+C';
    }
  });
  const box = element('div', 'code');
  code.replaceWith(box);
  box.append(code, button);
}

// On a phone, each row of a table with many columns becomes a block (style.css). Its cells
// then repeat the headings.
for (const table of document.querySelectorAll('.prose table:has(th:nth-child(4))')) {
  const headings = [...table.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = headings[i]; });
}

// languageOf returns the language that a part of a guide begins with: as a heading, or as
// the first words of a paragraph.
function languageOf(node) {
  const title = node.tagName === 'H3' ? node : node.tagName === 'P' && node.firstChild?.nodeName === 'STRONG' ? node.firstChild : null;
  const text = title?.textContent.replace(/\.$/, '');
  return languages.includes(text) ? text : '';
}

// A group has one panel for each language. Panels of a group follow each other.
const groups = [];

function collect(article) {
  let group;
  let panel;
  for (const node of [...article.children]) {
    const language = languageOf(node);
    if (language) {
      if (!group || group.tag !== node.tagName) groups.push(group = { tag: node.tagName, panels: [] });
      group.panels.push(panel = { language, nodes: [node] });
    } else if (panel && !/^H[1-3]$/.test(node.tagName) && !(group.tag === 'P' && panel.nodes.at(-1).className === 'code')) {
      panel.nodes.push(node);
    } else {
      group = panel = undefined;
    }
  }
}

function build({ panels }, number) {
  const list = element('div', 'tabs languages');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  panels[0].nodes[0].before(list);
  for (const panel of panels) {
    panel.list = list;
    panel.tab = list.appendChild(element('button', 'plain', panel.language));
    panel.box = element('div', 'language');
    panel.tab.id = `tab-${number}-${panel.language}`;
    panel.box.id = `panel-${number}-${panel.language}`;
    panel.tab.setAttribute('role', 'tab');
    panel.tab.setAttribute('aria-controls', panel.box.id);
    panel.box.setAttribute('role', 'tabpanel');
    panel.box.setAttribute('aria-labelledby', panel.tab.id);
    panel.nodes[0].before(panel.box);
    panel.box.append(...panel.nodes);
    panel.tab.addEventListener('click', () => choose(panel.language));
  }
  list.addEventListener('keydown', (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by) return;
    const at = panels.findIndex((panel) => panel.tab === e.target);
    const { tab, language } = panels[(at + by + panels.length) % panels.length];
    choose(language);
    tab.focus();
  });
}

// choose shows a language in every group that has it.
function choose(language) {
  for (const { panels } of groups) {
    if (!panels.some((panel) => panel.language === language)) continue;
    for (const { tab, box, language: own } of panels) {
      box.hidden = own !== language;
      tab.setAttribute('aria-selected', String(own === language));
      tab.tabIndex = own === language ? 0 : -1;
    }
  }
}

// follow shows the panel that the address points into.
function follow() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const panel = target && groups.flatMap((group) => group.panels).find(({ box }) => box.contains(target));
  if (!panel) return;
  choose(panel.language);
  (target === panel.nodes[0] ? panel.list : target).scrollIntoView();
}

const article = document.querySelector('.prose');
if (article) {
  collect(article);
  groups.splice(0, Infinity, ...groups.filter(({ panels }) => panels.length > 1));
  for (const [i, group] of groups.entries()) build(group, i);
  choose(languages[0]);
  follow();
  addEventListener('hashchange', follow);
}
