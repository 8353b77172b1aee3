import { estimateBytes } from '../accounting/estimate-bytes.ts'
import { createOutline, type Outline } from '../base/json/outline.ts'
import { type Member, scanJson, sourceText } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import { checkTopLevel, findReferences } from '../formats/references/find.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody, RequestOutline } from '../formats/request-body.ts'
import { judgeOutline } from '../formats/shared/acceptors.ts'
import { sealPrefix, sealPrefixBase64 } from '../formats/shared/seals.ts'
import { hasSignsOfReferences } from '../operations/references/notice.ts'

const encoder = new TextEncoder()
const seals = [sealPrefix, sealPrefixBase64].map((prefix) => encoder.encode(prefix))

interface Reading {
  readonly maxDepth: number
  readonly maxValues: number
  /** Adds what is not in the body. */
  readonly complete: (body: Json) => Json
  /** Throws unless it fits. */
  readonly validate: (body: Json) => JsonObject
  /** What the path says. */
  readonly model: string | undefined
  readonly modelPrefix: string | undefined
  /** Whether a request for a model is likely to pass as it is. */
  readonly passes: (model: string) => boolean
  /** How the body refers to stored state. */
  readonly scheme?: ReferenceScheme | undefined
}

/**
 * Checks a large body by its outline: no text as long as the body is made, and no value as large. Undefined where that does not
 * suffice or does not pay, which says nothing against the body: it has to be read whole. Throws GatewayError for too many values.
 */
export function lazyBody(bytes: Uint8Array, reading: Reading): RequestBody | undefined {
  const model = reading.model ?? modelIn(bytes)
  if (model !== undefined && !reading.passes(model)) return undefined
  const outline = createOutline(bytes, reading.maxDepth, seals, reading.maxValues)
  if (outline === undefined) return undefined
  const { scheme } = reading
  if (scheme !== undefined)
    checkTopLevel(
      scheme,
      outline.members.map(({ key }) => key),
    )
  try {
    const value = judgeOutline(() => reading.validate(reading.complete(JSON.parse(outline.text) as Json)))
    if (scheme !== undefined && refers(scheme, outline.text, value)) return undefined
    return new LazyBody(bytes, outline, value, reading)
  } catch {
    return undefined
  }
}

/** Whether a body makes references. Of an id that was cut the outline shows at least that there is one. */
const refers = (scheme: ReferenceScheme, text: string, value: JsonObject): boolean =>
  hasSignsOfReferences(scheme, text, value) && findReferences(scheme, text, value).length > 0

/** How much of a body is looked at for the model's name, at each end. */
const lookedAt = 300

/** What is likely to be the model's name: most clients write it at one end of the body. To choose a way by, nothing else. */
function modelIn(bytes: Uint8Array): string | undefined {
  const named = /"model"\s*:\s*"([^"\\]+)"/
  for (const start of [0, bytes.length - lookedAt]) {
    const found = named.exec(sourceText(bytes, start, start + lookedAt))
    if (found !== null) return found[1]
  }
  return undefined
}

class LazyBody implements RequestBody {
  readonly bytes: Uint8Array
  readonly outline: RequestOutline
  readonly modelPrefix: string | undefined
  readonly #complete: Reading['complete']
  #text: string | undefined
  #members: readonly Member[] | undefined
  #value: JsonObject | undefined

  /** @param value what the outline says */
  constructor(bytes: Uint8Array, outline: Outline, value: JsonObject, { complete, modelPrefix }: Reading) {
    const { members, cutKeys, longTexts: farTexts } = outline
    this.bytes = bytes
    this.modelPrefix = modelPrefix
    this.#complete = complete
    // What was cut is of no use any more.
    for (const key of cutKeys) value[key] = null
    const read = (fields: JsonObject, key: string): Json | undefined => (cutKeys.has(key) ? this.value : fields)[key]
    const fields = new Proxy(value, { get: (target, key) => read(target, key as string) })
    this.outline = { fields, members, tokens: estimateBytes(bytes, farTexts) }
  }

  get text(): string {
    this.#text ??= new TextDecoder().decode(this.bytes)
    return this.#text
  }

  get members(): readonly Member[] {
    this.#members ??= scanJson(this.text, Number.POSITIVE_INFINITY).members
    return this.#members
  }

  get value(): JsonObject {
    this.#value ??= this.#complete(JSON.parse(this.text) as Json) as JsonObject
    return this.#value
  }
}
