import { ProxyTracerProvider, type TracerProvider } from '@opentelemetry/api'

/** The API's placeholder until a provider is registered. */
const noopProvider = new ProxyTracerProvider().getDelegate()

/** Returns false until an SDK is registered, so that a call costs nothing until then. */
export const isTracing = (provider: TracerProvider): boolean =>
  !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== noopProvider
