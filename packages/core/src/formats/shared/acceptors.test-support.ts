import type * as z from 'zod'
import { acceptorOf } from './acceptors.ts'

export interface Named {
  readonly name: string
  readonly schema: z.ZodType
}

/** Compares acceptors with zod; returns the differences and how often both accepted or rejected a value. */
export function compare(values: Iterable<unknown>, schemas: readonly Named[]) {
  const differing: { readonly name: string; readonly value: unknown; readonly zod: boolean }[] = []
  const agreed = { accepted: 0, refused: 0 }
  for (const value of values)
    for (const { name, schema } of schemas) {
      const { success: zod } = schema.safeParse(value)
      if (acceptorOf(schema)(value) !== zod) differing.push({ name, value, zod })
      else agreed[zod ? 'accepted' : 'refused']++
    }
  return { differing, ...agreed }
}
