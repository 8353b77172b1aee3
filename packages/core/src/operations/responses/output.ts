import type { Json, JsonObject } from '../../formats/ir.ts'

/** The items of an answer. */
export const outputOf = ({ output }: JsonObject): readonly Json[] => (Array.isArray(output) ? output : [])
