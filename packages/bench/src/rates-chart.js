// Bars of calls per second, as SVG: one group for each row in which other gateways were measured too.

/** @typedef {{ work: string, rates: { [proxy: string]: number } }} Group */

const left = 110
const width = 720
const barWidth = width - left - 90
const colours = new Map([['Modelgate', '#0b63ce']])
const escapeText = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Returns the groups of rows with at least one other gateway. @param {readonly import('./row.js').Row[]} rows @returns {Group[]} */
export const groupsOf = (rows) =>
  rows.flatMap(({ work, rates, peer }) => (rates === undefined || peer === undefined ? [] : [{ work, rates }]))

/** @param {readonly Group[]} groups @returns {string} */
export function drawRates(groups) {
  /** @type {string[]} */
  const shapes = []
  let y = 8
  for (const { work, rates } of groups) {
    const most = Math.max(...Object.values(rates))
    shapes.push(`<text x="8" y="${y + 12}" font-weight="bold">${escapeText(work)}, calls per second</text>`)
    y += 20
    for (const [name, rate] of Object.entries(rates).sort(([, a], [, b]) => b - a)) {
      const length = Math.max(1, Math.round((rate / most) * barWidth))
      shapes.push(
        `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${escapeText(name)}</text>`,
        `<rect x="${left}" y="${y + 1}" width="${length}" height="14" fill="${colours.get(name) ?? '#9aa4b2'}"/>`,
        `<text x="${left + length + 6}" y="${y + 12}">${Math.round(rate).toLocaleString('en-US')}</text>`,
      )
      y += 18
    }
    y += 14
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" font-family="sans-serif" font-size="12" fill="#222">`,
    '<title>Calls per second of Modelgate and other proxies on one CPU</title>',
    `<rect width="${width}" height="${y}" fill="#fff"/>`,
    ...shapes,
    '</svg>\n',
  ].join('\n')
}
