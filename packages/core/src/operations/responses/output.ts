import type { Json, JsonObject } from '../../base/json/types.ts'

/** The items of an answer. */
export const outputOf = ({ output }: JsonObject): readonly Json[] => (Array.isArray(output) ? output : [])
