import { useEffect, useState } from 'preact/hooks'
import { tokenText, type UsageReport } from './usage-report.ts'

/** Values to filter by. */
export interface SeenOptions {
  /** Names of tokens by id. */
  readonly tokens: ReadonlyMap<string, string>
  readonly models: ReadonlySet<string>
}

const nothing: SeenOptions = { tokens: new Map(), models: new Set() }

/** Collects the tokens and models of all reports: a filtered one contains only some. */
export function useSeenOptions(report: UsageReport | undefined): SeenOptions {
  const [seen, setSeen] = useState(nothing)
  useEffect(() => {
    if (report === undefined) return
    const { rows, tokens } = report
    setSeen((before) => ({
      tokens: new Map([
        ...before.tokens,
        ...rows.flatMap((row) => (row.token === null ? [] : [[row.token, tokenText(row)] as const])),
        ...tokens.map(({ id, name }) => [id, name ?? id] as const),
      ]),
      models: new Set([...before.models, ...rows.flatMap(({ model }) => (model === '' ? [] : [model]))]),
    }))
  }, [report])
  return seen
}
