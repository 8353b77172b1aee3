import { modelPlaces, routerPlaces, toolPlaces } from '../../formats/shared/model-places.ts'

/**
 * The members that name a model in what clients of realtime sessions write: requests for a session's secret, and the events of the session itself
 * (`session.update`, `response.create`). Older sessions have at their top what newer ones have in `session`.
 */
export const realtimePlaces = modelPlaces({
  names: [
    ...routerPlaces.names,
    ...toolPlaces.names,
    'audio.input.transcription.model',
    'input_audio_transcription.model',
    'session.audio.input.transcription.model',
    'session.input_audio_transcription.model',
    'session.model',
    'response.model',
  ],
  chooses: routerPlaces.chooses,
  sameMembers: {
    ...routerPlaces.sameMembers,
    ...toolPlaces.sameMembers,
    'session.tools': 'tools',
    'response.tools': 'tools',
  },
})
