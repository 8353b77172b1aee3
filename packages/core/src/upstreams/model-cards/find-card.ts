import type { ModelCardRow } from '../../formats/model-card.ts'
import { bareName } from '../../formats/shared/model-rules.ts'

/** Returns the first row that matches a model's name at an upstream. */
export function findCard(rows: readonly ModelCardRow[], model: string, baseURL: string): ModelCardRow | undefined {
  const name = comparable(withoutTuning(bareName(model)))
  const host = hostOf(baseURL)
  return rows.find((row) => matchesName(comparable(row.model), name) && matchesHost(row.host, host))
}

/** Matches the name itself, and the name with a date, version or `-latest` at its end. */
const matchesName = (known: string, name: string): boolean =>
  name.startsWith(known) && versionSuffix.test(name.slice(known.length))

/** `-20250929`, `@20250929`, `-2025-08-07`, `-03-2025`, `-0613`, `-001`, `-latest`, `-preview`; Bedrock's `-v1:0` and `-1:0`. */
const versionSuffix =
  /^(?:-preview)?(?:[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{3,4}))?(?:-v\d+(?::\d+)?|-\d+:\d+|:\d+)?$/

/** Vendors write `claude-opus-4-5`, resellers `claude-opus-4.5`. */
const comparable = (name: string): string => name.replace(/(\d)\.(?=\d)/g, '$1-')

/** `gpt-4.1-2025-04-14:org::id`, which is left of `ft:gpt-4.1-2025-04-14:org::id`, without the owner. */
function withoutTuning(name: string): string {
  const owner = name.search(/:(?!\d)/)
  return owner < 0 ? name : name.slice(0, owner)
}

function matchesHost(wanted: string | undefined, host: string): boolean {
  return wanted === undefined || host === wanted || host.endsWith(`.${wanted}`)
}

/** A card must not fail for an address that the upstream's checks accept. */
function hostOf(baseURL: string): string {
  try {
    return new URL(baseURL).hostname
  } catch {
    return ''
  }
}
