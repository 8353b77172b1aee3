import { lazy } from '../../base/async.ts'
import type { Adaptation } from './adaptation.ts'

/** The vendors whose clients need an adaptation. */
export type AdaptationName = 'cohere' | 'mistral' | 'openrouter'

/** Loads an adaptation with the first call that needs it. */
export const adaptations: { readonly [N in AdaptationName]: () => Adaptation | Promise<Adaptation> } = {
  cohere: lazy(() => import('./cohere.ts').then(({ cohere }) => cohere)),
  mistral: lazy(() => import('./mistral.ts').then(({ mistral }) => mistral)),
  openrouter: lazy(() => import('./openrouter.ts').then(({ openrouter }) => openrouter)),
}
