/** Markup created by `html`, with all inserted values escaped. */
class Html {
  /** @param {string} text */
  constructor(text) {
    this.text = text
  }
}

/** @type {Record<string, string>} */
const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** @param {unknown} value @returns {string} */
function written(value) {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(written).join('')
  return value === undefined || value === null || value === false
    ? ''
    : String(value).replace(/[&<>"']/g, (sign) => escapes[sign] ?? '')
}

/** A template tag that escapes inserted values. @param {TemplateStringsArray} strings @param {...unknown} values */
export const html = (strings, ...values) => new Html(String.raw({ raw: strings.raw }, ...values.map(written)))
