// Elements made of text: nothing that comes from outside is ever read as HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const fill = (parent, ...children) => parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));

// The same, but what is there already stays, and so does the focus.
export function arrange(parent, children) {
  if (children.length !== parent.children.length || children.some((child, at) => child !== parent.children[at])) parent.replaceChildren(...children);
}

// A value that may be missing: it says so.
export function value(text, missing = "not known") {
  if (text === null || text === undefined) return element("span", { className: "missing", textContent: missing });
  return element("span", { className: "value", textContent: text });
}

const cell = (content, column) => {
  const made = element("td", { className: column.number ? "number" : column.text ? "text" : "" });
  made.append(content instanceof Node ? content : value(content, column.missing));
  return made;
};

// columns: [{ name, number, text, missing }]; rows: lists of text, null or elements; the first cell is the row's heading.
export function table(target, caption, columns, rows, nothing) {
  if (!rows.length) {
    fill(target, element("tbody", {}, element("tr", {}, element("td", { className: "missing", textContent: nothing }))));
    return;
  }
  const head = columns.map((column) => element("th", { scope: "col", className: column.number ? "number" : "", textContent: column.name }));
  const lines = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row[0]), ...row.slice(1).map((content, at) => cell(content, columns[at + 1]))));
  fill(target, caption ? element("caption", { textContent: caption }) : null, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
}
