import { formatNamed } from '../formats/index.ts'
import { type Draft, firstDraft } from './draft.ts'

/** Named settings on this device. They contain no credentials: the settings have none. */
export type Presets = ReadonlyMap<string, Draft>

const storedAs = 'modelgate-presets'

/** Returns the stored presets. Fields that are missing or damaged get their first value. */
export function readPresets(): Presets {
  try {
    const stored = JSON.parse(localStorage.getItem(storedAs) ?? '{}') as Record<string, unknown>
    return new Map(Object.entries(stored).map(([name, value]) => [name, toDraft(value)]))
  } catch {
    // The browser blocks storage, or the text is no JSON.
    return new Map()
  }
}

/** Stores the presets. Returns false if there is no room or storage is blocked. */
export function storePresets(presets: Presets): boolean {
  const stored = [...presets].map(([name, draft]) => [name, { ...draft, format: draft.format.id }] as const)
  try {
    localStorage.setItem(storedAs, JSON.stringify(Object.fromEntries(stored)))
    return true
  } catch {
    return false
  }
}

function toDraft(value: unknown): Draft {
  const given = Object.entries(value ?? {}).filter(
    ([name, field]) => name !== 'format' && typeof field === typeof firstDraft[name as keyof Draft],
  )
  const { format } = (value ?? {}) as { readonly format?: unknown }
  return { ...firstDraft, ...Object.fromEntries(given), format: formatNamed(String(format)) }
}
