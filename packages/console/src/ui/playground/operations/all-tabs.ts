import type { ComponentType } from 'preact'
import { EmbeddingsTab } from './embeddings/tab.tsx'
import { ImagesTab } from './images/tab.tsx'
import type { OperationTabProps } from './operation.ts'
import { RerankTab } from './rerank/tab.tsx'
import { SpeechTab } from './speech/tab.tsx'
import type { OperationId } from './tabs.ts'
import { TranscriptionTab } from './transcription/tab.tsx'

/** The tabs of all operations. They share most of their code, so they are loaded together. */
export const operationTabs: Readonly<Record<OperationId, ComponentType<OperationTabProps>>> = {
  embeddings: EmbeddingsTab,
  images: ImagesTab,
  speech: SpeechTab,
  transcription: TranscriptionTab,
  rerank: RerankTab,
}
