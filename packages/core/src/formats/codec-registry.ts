import { lazy } from '../base/async.ts'
import type { AnyFormat, Format, SharedFormat, UpstreamFormat } from '../base/names.ts'
import { chatWire } from './chat/wire.ts'
import type {
  ClientCodec,
  ClientWireCodec,
  Codec,
  CodecDialect,
  UpstreamCodec,
  UpstreamWireCodec,
  WireCodec,
} from './codec.ts'
import { converseWire } from './converse/wire.ts'
import { geminiWire } from './gemini/wire.ts'
import { messagesWire } from './messages/wire.ts'
import { ollamaGenerateWire, ollamaWire } from './ollama/wire.ts'
import { responsesWire } from './responses/wire.ts'

type AnyCodec = ClientCodec | UpstreamCodec
type WholeCodec<F extends AnyFormat> = F extends SharedFormat ? Codec : F extends Format ? ClientCodec : UpstreamCodec

/** Loads the whole codec of each format on first use; returns it without a promise once it has been loaded. */
export const codecLoaders: { readonly [F in AnyFormat]: () => WholeCodec<F> | Promise<WholeCodec<F>> } = {
  chat: lazy(() => import('./chat/codec.ts').then(({ chatCodec }) => chatCodec)),
  messages: lazy(() => import('./messages/codec.ts').then(({ messagesCodec }) => messagesCodec)),
  gemini: lazy(() => import('./gemini/codec.ts').then(({ geminiCodec }) => geminiCodec)),
  responses: lazy(() => import('./responses/codec.ts').then(({ responsesCodec }) => responsesCodec)),
  converse: lazy(() => import('./converse/codec.ts').then(({ converseCodec }) => converseCodec)),
  ollama: lazy(() => import('./ollama/codec.ts').then(({ ollamaCodec }) => ollamaCodec)),
}

export function loadCodec(format: SharedFormat): Codec | Promise<Codec>
export function loadCodec(format: Format): ClientCodec | Promise<ClientCodec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec>
export function loadCodec(format: AnyFormat): AnyCodec | Promise<AnyCodec> {
  return codecLoaders[format]()
}

const dialectLoaders: { readonly [D in CodecDialect]: () => ClientCodec | Promise<ClientCodec> } = {
  'ollama-generate': lazy(() => import('./ollama/codec.ts').then(({ ollamaGenerateCodec }) => ollamaGenerateCodec)),
}

const isWhole = (codec: ClientWireCodec): codec is ClientCodec => 'decodeRequest' in codec

/** Returns the full codec of a call. Operations with their own codec (completions) already have a full one, dialects load theirs. */
export const loadFullCodec = (codec: ClientWireCodec): ClientCodec | Promise<ClientCodec> =>
  isWhole(codec) ? codec : codec.dialect === undefined ? loadCodec(codec.format) : dialectLoaders[codec.dialect]()

/** Returns whether an upstream can speak a codec's format: bodies may then pass unchanged. */
export const isSharedCodec = (codec: ClientWireCodec): codec is WireCodec => 'tapStream' in codec

/** The shared formats, with the part of their codecs that every call needs. A new one is added here and to `codecs`. */
const sharedCodecs: Readonly<Record<SharedFormat, WireCodec>> = {
  chat: chatWire,
  messages: messagesWire,
  gemini: geminiWire,
  responses: responsesWire,
  converse: converseWire,
}

/** The same for all formats that clients speak. */
const clientCodecs: Readonly<Record<Format, ClientWireCodec>> = { ...sharedCodecs, ollama: ollamaWire }

/** The same for dialects of formats. */
export const codecDialects: Readonly<Record<CodecDialect, ClientWireCodec>> = { 'ollama-generate': ollamaGenerateWire }

/** The same for all formats that upstreams speak. */
const upstreamCodecs: Readonly<Record<UpstreamFormat, UpstreamWireCodec>> = sharedCodecs

/** The part of the codecs of all formats that every call needs. */
export const wireCodecs: Readonly<
  Record<SharedFormat, WireCodec> & Record<Format, ClientWireCodec> & Record<UpstreamFormat, UpstreamWireCodec>
> = { ...clientCodecs, ...upstreamCodecs, ...sharedCodecs }

export const clientFormats = Object.keys(clientCodecs) as readonly Format[]

export const isUpstreamFormat = (format: string): format is UpstreamFormat => Object.hasOwn(upstreamCodecs, format)
