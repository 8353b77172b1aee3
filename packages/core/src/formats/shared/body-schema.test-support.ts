import type { Schema } from './body-schema.ts'

export interface Named {
  readonly name: string
  readonly schema: Schema
}

/** Compares acceptors with issues; returns the differences and how often both accepted or rejected a value. */
export function compare(values: Iterable<unknown>, schemas: readonly Named[]) {
  const differing: { readonly name: string; readonly value: unknown; readonly accepted: boolean }[] = []
  const agreed = { accepted: 0, refused: 0 }
  for (const value of values)
    for (const { name, schema } of schemas) {
      const accepted = schema.accepts(value)
      if (accepted !== (schema.issues(value).length === 0)) differing.push({ name, value, accepted })
      else agreed[accepted ? 'accepted' : 'refused']++
    }
  return { differing, ...agreed }
}
