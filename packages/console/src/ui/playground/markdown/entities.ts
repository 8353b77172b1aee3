/** Entities that models write; others stay as written. A browser's full table has 2,000. */
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  times: '×',
  deg: '°',
  rarr: '→',
  larr: '←',
  le: '≤',
  ge: '≥',
  ne: '≠',
}

/** Decodes character references in prose. The result becomes text, so it can be anything. */
export const decodeEntities = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/g, (whole, decimal, hex, name) => {
        if (name !== undefined) return Object.hasOwn(named, name) ? (named[name] ?? whole) : whole
        return character(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)) ?? whole
      })
    : text

function character(code: number): string | undefined {
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  return code === 0 || code > 0x10ffff || isSurrogate ? undefined : String.fromCodePoint(code)
}
