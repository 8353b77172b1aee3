/** The checked-in lists: one line per name with `side`, `name` and `outcome`, separated by tabs. */

/** @param {string} format */
export const namesFile = (format) => new URL(`names/${format}.tsv`, import.meta.url)

/**
 * @param {string} text
 * @returns {Map<string, string>} the outcome by `side`, a tab and `name`
 */
export function parseNames(text) {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(
    lines.map((line, index) => {
      const [side, name, outcome, ...rest] = line.split('\t')
      if (outcome === undefined || rest.length > 0)
        throw new Error(`Line ${index + 1} is not "side, name, outcome": ${line}`)
      return [`${side}\t${name}`, outcome]
    }),
  )
}

/** @param {readonly { side: string, name: string, outcome: string }[]} names */
export const printNames = (names) =>
  names
    .map(({ side, name, outcome }) => `${side}\t${name}\t${outcome}\n`)
    .sort()
    .join('')
