import { lazy } from '../base/async.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'
import { chatWire } from './chat/wire.ts'
import type { Codec, UpstreamCodec, UpstreamWireCodec, WireCodec } from './codec.ts'
import { converseWire } from './converse/wire.ts'
import { geminiWire } from './gemini/wire.ts'
import { messagesWire } from './messages/wire.ts'
import { responsesWire } from './responses/wire.ts'

type Loader<F extends UpstreamFormat> = F extends Format
  ? () => Codec | Promise<Codec>
  : () => UpstreamCodec | Promise<UpstreamCodec>

/** Loads the whole codec of each format on first use; returns it without a promise once it has been loaded. */
export const codecLoaders: { readonly [F in UpstreamFormat]: Loader<F> } = {
  chat: lazy(() => import('./chat/codec.ts').then(({ chatCodec }) => chatCodec)),
  messages: lazy(() => import('./messages/codec.ts').then(({ messagesCodec }) => messagesCodec)),
  gemini: lazy(() => import('./gemini/codec.ts').then(({ geminiCodec }) => geminiCodec)),
  responses: lazy(() => import('./responses/codec.ts').then(({ responsesCodec }) => responsesCodec)),
  converse: lazy(() => import('./converse/codec.ts').then(({ converseCodec }) => converseCodec)),
}

export function loadCodec(format: Format): Codec | Promise<Codec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec> {
  return codecLoaders[format]()
}

const isWhole = (codec: WireCodec): codec is Codec => 'decodeRequest' in codec

/** Returns the full codec of a call. Operations with their own codec (completions) already have a full one. */
export const loadFullCodec = (codec: WireCodec): Codec | Promise<Codec> =>
  isWhole(codec) ? codec : loadCodec(codec.format)

/** The formats that clients speak. A new one is added here and to `codecs`. */
const wireCodecs: readonly WireCodec[] = [chatWire, messagesWire, geminiWire, responsesWire]

/** The formats that upstreams speak. */
const upstreamWireCodecs: readonly UpstreamWireCodec[] = [...wireCodecs, converseWire]

export const clientFormats: readonly Format[] = wireCodecs.map(({ format }) => format)

const byFormat = new Map<UpstreamFormat, UpstreamWireCodec>(upstreamWireCodecs.map((codec) => [codec.format, codec]))

/** Returns the part of a codec that every call needs. Throws for an unknown format, which configuration checks rule out. */
export function wireCodecOf(format: Format): WireCodec
export function wireCodecOf(format: UpstreamFormat): UpstreamWireCodec
export function wireCodecOf(format: UpstreamFormat): UpstreamWireCodec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`There is no codec for the format '${format}'`)
  return codec
}
export const hasCodec = (format: UpstreamFormat): boolean => byFormat.has(format)
