import type { FormatScore, Report, Result } from './report.ts'

/** Wraps a text at `width`; lines after the first are indented. Longer words stay whole. */
export function wrap(text: string, width: number, indent = 0): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > Math.max(20, width - indent)) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`)
}

/** Returns the text of a format's row: its result, or the reason why it has none. */
function shareOf(
  { format, passed, total, notServed, skipped }: FormatScore,
  results: readonly Result[],
): readonly [share: string, rest: string] {
  if (total > 0) {
    const aside = [notServed > 0 ? `${notServed} not served` : '', skipped > 0 ? `${skipped} skipped` : '']
    const rest = aside.filter((text) => text !== '').join(', ')
    return [`${passed}/${total}`, rest]
  }
  const [first] = results.filter((result) => result.format === format)
  return ['–', `${first?.verdict ?? 'skipped'}: ${first?.why ?? ''}`]
}

/**
 * Formats a report for a terminal: one row per format, then the failures with reasons. Plain text; lines are at most
 * `width` wide where possible.
 */
export function tableOf(report: Report, width: number): string {
  const { formats, results, models } = report
  const column = Math.max(...formats.map(({ title }) => title.length), 5)
  const row = (title: string, [share, rest]: readonly [string, string]): string =>
    `  ${title.padEnd(column)}  ${share.padStart(7)}   ${wrap(rest, width, column + 14)}`.trimEnd()
  const rows = formats.map((share) => row(share.title, shareOf(share, results)))
  const total = row('total', [`${report.passed}/${report.total}`, `${report.score} %`])
  const scored = new Set(formats.filter((share) => share.total > 0).map(({ format }) => format))
  const sections = (['failed', 'not served', 'skipped'] as const).map((verdict) =>
    section(
      verdict,
      results.filter((result) => result.verdict === verdict && (verdict === 'failed' || scored.has(result.format))),
      width,
    ),
  )
  const names = Object.entries(models).map(([kind, name]) => `${kind} ${name}`)
  const head = `${report.url}, models: ${names.join(', ')}; ${report.calls} calls in ${(report.ms / 1000).toFixed(1)} s`
  return [wrap(head, width), '', ...rows, total, ...sections.filter((text) => text !== '')].join('\n')
}

/** Checks with the same reason: a single one, or many of a format. */
interface Group {
  readonly why: string
  readonly results: Result[]
}

/** This many checks of a format with the same reason are reported in one line. */
const many = 4

function groupsOf(results: readonly Result[]): Group[] {
  const groups = new Map<string, Group>()
  for (const result of results) {
    const { format, why = '' } = result
    const key = `${format} ${why}`
    const group = groups.get(key) ?? { why, results: [] }
    group.results.push(result)
    groups.set(key, group)
  }
  return [...groups.values()].flatMap(({ why, results: own }) =>
    own.length < many ? own.map((result) => ({ why, results: [result] })) : [{ why, results: own }],
  )
}

function section(verdict: string, results: readonly Result[], width: number): string {
  if (results.length === 0) return ''
  const rows = groupsOf(results).map(({ why, results: own }): readonly [string, string] => {
    const [first] = own
    if (own.length === 1) return [first?.name ?? '', why]
    return [`${first?.format} (${own.length})`, `${why} (${own.map(({ feature }) => feature).join(', ')})`]
  })
  const column = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, why]) => `  ${name.padEnd(column)}  ${wrap(why, width, column + 4)}`)
  return [`\n${verdict[0]?.toUpperCase()}${verdict.slice(1)}`, ...lines].join('\n')
}
