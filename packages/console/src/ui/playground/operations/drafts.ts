import type { Operation, OperationDraft } from './operation.ts'
import { createValue, type Value } from './value.ts'

/** Creates the draft of a tab, which is stored on this device. */
export function createDraft<D extends OperationDraft>({
  id,
  firstDraft,
}: Pick<Operation<D>, 'id' | 'firstDraft'>): Value<D> {
  const key = `modelgate-tab-${id}`
  const value = createValue(readStored(key, firstDraft))
  return {
    ...value,
    set(next) {
      value.set(next)
      try {
        localStorage.setItem(key, JSON.stringify(next))
      } catch {
        // The inputs last as long as the page.
      }
    },
  }
}

/** Fields that are missing, or have another type, get their first value. */
function readStored<D extends OperationDraft>(key: string, firstDraft: D): D {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, unknown>
    const known = Object.entries(firstDraft).filter(([name, first]) => isLike(stored[name], first))
    return { ...firstDraft, ...Object.fromEntries(known.map(([name]) => [name, stored[name]])) }
  } catch {
    // The browser blocks storage, or the text is no JSON.
    return firstDraft
  }
}

const isLike = (value: unknown, first: unknown): boolean =>
  Array.isArray(first)
    ? Array.isArray(value) && value.every((item) => typeof item === 'string')
    : typeof value === typeof first && !Array.isArray(value)
