import { anchorsFor } from './anchors.ts'
import type { Entry, Member, PackageApi, Signature } from './api.ts'

/** Each package has a page; links need the page and the anchor. */
const pageOf = (folder: string): string => `${folder}.md`

const groups: readonly (readonly [string, readonly Entry['kind'][]])[] = [
  ['Functions', ['function']],
  ['Options', ['options']],
  ['Values', ['value']],
  ['Classes', ['class']],
  ['Types', ['type']],
  ['Named above, not exported', ['named']],
]

/** Returns the entries of a page in order, with the anchors of their headings. */
function layout({ name, folder, entries }: PackageApi) {
  const sections = groups
    .map(([title, kinds]) => ({
      title,
      entries: entries.filter(({ kind, home }) => kinds.includes(kind) && home === folder),
    }))
    .filter(({ entries }) => entries.length > 0)
  const headings = [name, ...sections.flatMap(({ title, entries }) => [title, ...entries.map(({ name }) => name)])]
  const made = anchorsFor(headings)
  let at = 1
  return sections.map(({ title, entries }) => {
    at++
    return { title, entries: entries.map((entry) => ({ entry, anchor: made[at++] ?? '' })) }
  })
}

/** Returns the page and anchor of each exported name. */
type Places = ReadonlyMap<string, { page: string; anchor: string }>

function placesOf(packages: readonly PackageApi[]): Places {
  const places = new Map<string, { page: string; anchor: string }>()
  // A name exported by two packages belongs to the first.
  for (const one of packages)
    for (const { entries } of layout(one))
      for (const { entry, anchor } of entries)
        if (!places.has(`${one.folder} ${entry.name}`))
          places.set(`${one.folder} ${entry.name}`, { page: pageOf(one.folder), anchor })
  return places
}

/** Resolves a name within the package, then in core, then in other packages. */
function placeOf(name: string, folder: string, places: Places): string | undefined {
  const keys = [`${folder} ${name}`, `core ${name}`, ...[...places.keys()].filter((key) => key.endsWith(` ${name}`))]
  const found = keys.map((key) => places.get(key)).find((place) => place !== undefined)
  if (found === undefined) return undefined
  return `${found.page === pageOf(folder) ? '' : found.page}#${found.anchor}`
}

/** Resolves a name of another package; undefined if that package does not export it. */
function linkTo(name: string, home: string, folder: string, places: Places): string {
  const place = placeOf(name, home, places)
  if (place === undefined) return `\`${name}\``
  return `[\`${name}\`](${place.startsWith('#') && home !== folder ? pageOf(home) : ''}${place})`
}

/** Formats a type on one line, with links on its names. */
function linked(type: string, folder: string, places: Places): string {
  const parts = type.split(/('[^']*'|"[^"]*"|\b[A-Z]\w+\b)/)
  let code = ''
  let text = ''
  const flush = (): void => {
    const [, before = '', middle = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(code) ?? []
    text += middle === '' ? before : `${before}\`${middle}\`${after}`
    code = ''
  }
  for (const part of parts) {
    const place = /^[A-Z]\w+$/.test(part) ? placeOf(part, folder, places) : undefined
    if (place === undefined) code += part
    else {
      flush()
      text += `[\`${part}\`](${place})`
    }
  }
  flush()
  return text
}

function memberLines(members: readonly Member[], depth: number, folder: string, places: Places): string[] {
  const indent = '  '.repeat(depth)
  return members.flatMap(({ name, type, doc, members }) => {
    const [, head = '', of = ''] = /^([^(]+)(.*)$/s.exec(name) ?? [name, name]
    const told = doc === '' ? '' : `  \n${doc}`.replaceAll('\n', `\n${indent}  `)
    return [
      `${indent}- **\`${head}\`**${of === '' ? '' : ` ${linked(of, folder, places)}`}: ${linked(type, folder, places)}${told}`,
      ...memberLines(members, depth + 1, folder, places),
    ]
  })
}

const code = (text: string): string => `\`\`\`ts\n${text}\n\`\`\``

/** Returns the names of a signature that have an entry. */
function named(texts: readonly string[], own: string, folder: string, places: Places): string[] {
  const names = new Set(texts.flatMap((text) => text.match(/\b[A-Z]\w+\b/g) ?? []))
  names.delete(own)
  const links = [...names].flatMap((name) => {
    const place = placeOf(name, folder, places)
    return place === undefined ? [] : [`[\`${name}\`](${place})`]
  })
  return links.length === 0 ? [] : [`See ${links.join(', ')}.`]
}

function signatureLines({ parameters, returns }: Signature): string[] {
  const told = parameters.filter(({ doc }) => doc !== '').map(({ name, doc }) => `- \`${name}\`: ${doc}`)
  return [...(told.length > 0 ? [told.join('\n')] : []), ...(returns === '' ? [] : [`Returns ${returns}`])]
}

function entryLines(entry: Entry, folder: string, places: Places): string[] {
  const { name, signatures, definition, members, heritage, doc, throws } = entry
  const shown = [...signatures.map(({ text }) => text), ...(definition === '' ? [] : [definition])]
  return [
    `### ${name}`,
    ...(shown.length > 0 ? [code(shown.join('\n'))] : []),
    ...(heritage === '' ? [] : [`Extends ${linked(heritage, folder, places)}.`]),
    ...(doc === '' ? [] : [doc]),
    ...signatures.flatMap(signatureLines),
    ...throws.map((text) => `Throws ${text.replace(/(?<![.!])$/, '.')}`),
    ...named(shown, name, folder, places),
    ...(members.length > 0 ? [memberLines(members, 0, folder, places).join('\n')] : []),
  ]
}

const generated = '<!-- Generated from the docstrings in the sources: npm run generate -->'

/** Filters the names that the package declares and exports. */
const exportsOf = (entries: readonly Entry[], home: string): string[] =>
  entries.filter((entry) => entry.home === home && entry.kind !== 'named').map(({ name }) => name)

function packagePage(one: PackageApi, packages: readonly PackageApi[], places: Places): string {
  const { name, folder, description, entries } = one
  const sections = layout(one)
  const elsewhere = [...new Set(entries.map(({ home }) => home))]
    .filter((home) => home !== folder)
    .map((home) => {
      const names = exportsOf(entries, home)
      const all = packages.find((other) => other.folder === home)
      if (all !== undefined && exportsOf(all.entries, home).length === names.length)
        return `Everything that [${all.name}](${pageOf(home)}) exports.`
      return `Of [${home}](${pageOf(home)}): ${names.map((name) => linkTo(name, home, folder, places)).join(', ')}`
    })
  const contents = sections.map(
    ({ title, entries }) =>
      `**${title}**: ${entries.map(({ entry, anchor }) => `[\`${entry.name}\`](#${anchor})`).join(', ')}`,
  )
  return `${[
    generated,
    `# ${name}`,
    description,
    ...contents,
    ...sections.flatMap(({ title, entries }) => [
      `## ${title}`,
      ...entries.flatMap(({ entry }) => entryLines(entry, folder, places)),
    ]),
    ...(elsewhere.length > 0 ? ['## From other packages', ...elsewhere] : []),
  ].join('\n\n')}\n`
}

/** Returns all pages of the reference by file name below docs/api. */
export function apiPages(packages: readonly PackageApi[]): Map<string, string> {
  const places = placesOf(packages)
  const rows = packages.map(
    ({ name, folder, description, entries }) =>
      `| [\`${name}\`](${pageOf(folder)}) | ${description} | ${entries.filter(({ kind }) => kind !== 'named').length} |`,
  )
  const index = [
    generated,
    '# API reference',
    'Every exported name of every package, with what its docstring says. Times are in milliseconds and sizes in bytes where nothing else is said; an option with `?` may be left out.',
    ['| package | what it is | names |', '|---|---|---|', ...rows].join('\n'),
  ]
  return new Map([
    ['README.md', `${index.join('\n\n')}\n`],
    ...packages.map((one): [string, string] => [pageOf(one.folder), packagePage(one, packages, places)]),
  ])
}
