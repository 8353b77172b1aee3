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

/** The formats that clients speak, with the part of their codecs that every call needs. A new one is added here and to `codecs`. */
const clientCodecs: Readonly<Record<Format, WireCodec>> = {
  chat: chatWire,
  messages: messagesWire,
  gemini: geminiWire,
  responses: responsesWire,
}

/** The same for all formats that upstreams speak. */
export const wireCodecs: Readonly<Record<Format, WireCodec> & Record<UpstreamFormat, UpstreamWireCodec>> = {
  ...clientCodecs,
  converse: converseWire,
}

export const clientFormats = Object.keys(clientCodecs) as readonly Format[]

export const hasCodec = (format: string): boolean => Object.hasOwn(wireCodecs, format)
