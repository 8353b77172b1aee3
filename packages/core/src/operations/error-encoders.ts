import type { Operation } from '../base/names.ts'
import type { AdaptationName } from '../formats/adaptations/adaptations.ts'
import type { ErrorEncoder, ErrorEncoderFinder } from './client-codec.ts'

const rerankError = () => import('./rerank/error.ts').then(({ encodeError }) => encodeError)

/** Loaders of the encoders of error bodies, for operations whose errors differ from those of the route's format. */
const errorEncoders: { readonly [O in Operation]?: () => Promise<ErrorEncoder> } = { rerank: rerankError }

/** The same for adaptations of clients. */
const adaptedErrors: { readonly [A in AdaptationName]?: () => Promise<ErrorEncoder> } = {
  cohere: rerankError,
  openrouter: () =>
    import('../formats/adaptations/openrouter-error.ts').then(({ openRouterError }) => (error) => ({
      error: openRouterError(error),
    })),
}

/** Returns the loader of the encoder of a route's errors, if they differ from those of its format. */
export const errorEncoderOf: ErrorEncoderFinder = ({ operation, adaptation }) =>
  errorEncoders[operation] ?? (adaptation === undefined ? undefined : adaptedErrors[adaptation])
