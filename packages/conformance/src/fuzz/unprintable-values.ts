const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** An object without a string or number value: `String` throws, and so does a template. */
const wordless = { toString: 1, valueOf: 2 }

/** A JSON document again and again, one of its values replaced by such an object each time, and where that stands. */
export function* withWordless(document: Uint8Array): Generator<{ body: Uint8Array; place: string }> {
  const whole = JSON.parse(decoder.decode(document)) as object
  const replaced = function* (holder: object, at: string): ReturnType<typeof withWordless> {
    for (const [key, own] of Object.entries(holder)) {
      const place = `${at}/${key}`
      for (const value of [wordless, [wordless]]) {
        Object.assign(holder, { [key]: value })
        yield { body: encoder.encode(JSON.stringify(whole)), place }
      }
      Object.assign(holder, { [key]: own })
      if (typeof own === 'object' && own !== null) yield* replaced(own, place)
    }
  }
  yield* replaced(whole, '')
}
