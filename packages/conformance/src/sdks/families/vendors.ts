import { azureInferenceClient, infoCase } from './azure-inference.ts'
import { cerebrasClient } from './cerebras.ts'
import { cohereClient } from './cohere.ts'
import { familyCases } from './family-cases.ts'
import type { Family } from './family-suite.ts'
import { groqClient } from './groq.ts'
import { mistralClient } from './mistral.ts'
import { openRouterClient } from './openrouter.ts'

/** Vendors' own SDKs. */
export const vendorFamilies: readonly Family[] = [
  { package: 'groq-sdk', name: 'Groq', cases: familyCases(groqClient, ['models', 'embed']) },
  { package: '@cerebras/cerebras_cloud_sdk', name: 'Cerebras', cases: familyCases(cerebrasClient, ['models']) },
  { package: 'cohere-ai', name: 'Cohere, v2', cases: familyCases(cohereClient, ['models', 'embed']) },
  { package: '@openrouter/sdk', name: 'OpenRouter', cases: familyCases(openRouterClient, ['models', 'embed']) },
  { package: '@mistralai/mistralai', name: 'Mistral', cases: familyCases(mistralClient, ['models', 'embed']) },
  {
    package: '@azure-rest/ai-inference',
    name: 'ModelClient of Azure AI inference',
    cases: [...familyCases(azureInferenceClient, ['embed']), infoCase],
  },
]
