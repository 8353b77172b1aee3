import { lazy } from '../base/async.ts'
import type { AnyFormat } from '../base/names.ts'
import type { CodecDialect } from './codec.ts'
import { type FormatLoaders, wireLoader } from './codec-registry.ts'

/** Loads the codecs of every format on first use. A new format is added here, and to `codecs`. */
export const everyFormat: FormatLoaders & {
  readonly wires: { readonly [F in AnyFormat]: unknown }
  readonly codecs: { readonly [F in AnyFormat]: unknown }
  readonly dialectWires: { readonly [D in CodecDialect]: unknown }
  readonly dialectCodecs: { readonly [D in CodecDialect]: unknown }
} = {
  wires: {
    chat: wireLoader('chat', () => import('./chat/wire.ts').then(({ chatWire }) => chatWire)),
    messages: wireLoader('messages', () => import('./messages/wire.ts').then(({ messagesWire }) => messagesWire)),
    gemini: wireLoader('gemini', () => import('./gemini/wire.ts').then(({ geminiWire }) => geminiWire)),
    responses: wireLoader('responses', () => import('./responses/wire.ts').then(({ responsesWire }) => responsesWire)),
    converse: wireLoader('converse', () => import('./converse/wire.ts').then(({ converseWire }) => converseWire)),
    ollama: wireLoader('ollama', () => import('./ollama/wire.ts').then(({ ollamaWire }) => ollamaWire)),
  },
  codecs: {
    chat: lazy(() => import('./chat/codec.ts').then(({ chatCodec }) => chatCodec)),
    messages: lazy(() => import('./messages/codec.ts').then(({ messagesCodec }) => messagesCodec)),
    gemini: lazy(() => import('./gemini/codec.ts').then(({ geminiCodec }) => geminiCodec)),
    responses: lazy(() => import('./responses/codec.ts').then(({ responsesCodec }) => responsesCodec)),
    converse: lazy(() => import('./converse/codec.ts').then(({ converseCodec }) => converseCodec)),
    ollama: lazy(() => import('./ollama/codec.ts').then(({ ollamaCodec }) => ollamaCodec)),
  },
  dialectWires: {
    'ollama-generate': lazy(() => import('./ollama/wire.ts').then(({ ollamaGenerateWire }) => ollamaGenerateWire)),
  },
  dialectCodecs: {
    'ollama-generate': lazy(() => import('./ollama/codec.ts').then(({ ollamaGenerateCodec }) => ollamaGenerateCodec)),
  },
}
