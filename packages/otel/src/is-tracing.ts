import { ProxyTracerProvider, type TracerProvider } from '@opentelemetry/api'

/** What stands in for a provider until one is registered. */
const none = new ProxyTracerProvider().getDelegate()

/** Whether anybody listens: false as long as no SDK has been registered, so that a call costs nothing until then. */
export const isTracing = (provider: TracerProvider): boolean =>
  !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== none
