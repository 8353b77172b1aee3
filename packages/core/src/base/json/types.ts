/** A JSON value. During translation a number may be an `ExactNumber` (base/json/exact-number.ts); the type omits it. */
export type Json = null | boolean | number | string | Json[] | JsonObject

/** A JSON object. */
export type JsonObject = { [key: string]: Json }
