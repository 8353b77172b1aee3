import type { CaptureMemory } from '../../accounting/call-capture.ts'
import type { CapturedBody, CapturedBodyKind } from '../../config/call-bodies.ts'
import { bytesToUtf8 } from '../../http/transport.ts'
import type { BodyMask } from '../../upstreams/redaction/body-mask.ts'
import { BodyTap, marginBytes } from './body-tap.ts'

/** Where the copies of one call are kept, and how their text is masked. */
export interface CopySettings {
  readonly maxBodyBytes: number
  readonly memory: CaptureMemory
  readonly mask: BodyMask
}

/** Media types whose bodies are texts. A body without a type is one, unless it has a zero byte. */
const textTypes = /json|text|xml|event-stream|javascript|urlencoded/i

/** Bytes at the beginning of a body without a type in which a zero byte is searched. */
const sniffedBytes = 512
/** Bounds a content type, which its sender chooses. */
const maxTypeChars = 200

const encoder = new TextEncoder()

/** A body while it passes, and its copy afterwards. */
export class WatchedBody implements CapturedBody {
  readonly contentType: string | undefined
  kind: CapturedBodyKind
  size = 0
  isComplete = false
  readonly #mask: BodyMask
  readonly #tap: BodyTap
  #isOver = false
  #isUntyped: boolean

  constructor(kind: CapturedBodyKind, contentType: string | undefined, { maxBodyBytes, memory, mask }: CopySettings) {
    this.kind = kind
    this.contentType = contentType?.slice(0, maxTypeChars)
    this.#mask = mask
    this.#tap = new BodyTap(kind === 'text' || kind === 'form' ? maxBodyBytes : 0, memory)
    this.#isUntyped = kind === 'text' && contentType === undefined
  }

  get isCut(): boolean {
    return this.#tap.isCut
  }

  get isShortened(): boolean {
    return this.#tap.isShortened
  }

  get heldBytes(): number {
    return this.#tap.heldBytes
  }

  append(chunk: Uint8Array): void {
    if (this.#isOver) return
    this.size += chunk.length
    if (this.#isUntyped && chunk.length > 0) {
      this.#isUntyped = false
      if (chunk.subarray(0, sniffedBytes).includes(0)) {
        this.kind = 'binary'
        this.#tap.drop()
      }
    }
    this.#tap.append(chunk)
    if (this.#tap.hasNoMemory) this.kind = 'no-memory'
  }

  /** Later bytes are ignored. */
  end(isComplete: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.isComplete = isComplete
    this.#tap.end()
  }

  /** Ends the body and frees its copy. */
  drop(): void {
    this.#isOver = true
    this.#tap.drop()
  }

  text(): string {
    if (this.kind !== 'text' && this.kind !== 'form') return ''
    const { bytes, isCut } = this.#tap
    const type = this.kind === 'text' ? this.contentType : undefined
    const utf8 = bytesToUtf8(bytes, { header: () => type })
    // `stream` leaves out a character that the cut has split.
    const masked = this.#mask.mask(new TextDecoder().decode(utf8, { stream: isCut }))
    // The margin is dropped after masking: it may begin with the second half of a credential.
    return isCut ? masked.slice(0, Math.max(0, masked.length - marginBytes)) : masked
  }
}

/** Begins the copy of a body that is a text or binary, depending on its type. */
export const watchBody = (contentType: string | undefined, settings: CopySettings): WatchedBody =>
  new WatchedBody(contentType === undefined || textTypes.test(contentType) ? 'text' : 'binary', contentType, settings)

/** Copies a body that is already there. */
export function copyBody(
  body: string | Uint8Array,
  contentType: string | undefined,
  settings: CopySettings,
): WatchedBody {
  const copy = watchBody(contentType, settings)
  copy.append(typeof body === 'string' ? encoder.encode(body) : body)
  copy.end(true)
  return copy
}

/**
 * Represents an upload by its fields.
 *
 * @param size of the upload in bytes
 */
export function copyForm(
  fields: unknown,
  size: number,
  contentType: string | undefined,
  settings: CopySettings,
): WatchedBody {
  const copy = new WatchedBody('form', contentType, settings)
  copy.append(encoder.encode(JSON.stringify(fields)))
  copy.end(true)
  copy.size = size
  return copy
}
