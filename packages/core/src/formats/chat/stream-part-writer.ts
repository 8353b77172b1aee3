import type { Delta, Part } from '../ir.ts'

/** Hands out the numbers of a choice's parts, and writes their events. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
}
