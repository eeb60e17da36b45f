/** Every error a user can meet: a stable code, whether trying again may help, its HTTP status, and its meaning. */

interface ErrorEntry {
  readonly status: number;
  readonly retryable: boolean;
  readonly meaning: string;
}

export const ERROR_CATALOGUE = {
  config_invalid: {
    status: 500,
    retryable: false,
    meaning: 'A configuration key is unknown or has a wrong value.',
  },
  database_unreachable: { status: 503, retryable: true, meaning: 'Postgres does not answer.' },
  queue_unreachable: { status: 503, retryable: true, meaning: 'The job queue does not answer.' },
  migration_required: {
    status: 503,
    retryable: false,
    meaning: 'The database schema is older than this program.',
  },
  roles_missing: { status: 500, retryable: false, meaning: 'The database user may not create the roles.' },
  data_folder_in_use: { status: 500, retryable: false, meaning: 'Another process owns the data folder.' },
  unauthorized: { status: 401, retryable: false, meaning: 'No key was sent, or it is not valid.' },
  forbidden: { status: 403, retryable: false, meaning: 'The key lacks the scope this route needs.' },
  not_found: { status: 404, retryable: false, meaning: 'No such route.' },
  session_not_found: { status: 404, retryable: false, meaning: 'No such session for this tenant.' },
  turn_not_found: { status: 404, retryable: false, meaning: 'No such turn for this tenant.' },
  call_not_found: { status: 404, retryable: false, meaning: 'The turn has no such tool call.' },
  step_not_found: { status: 404, retryable: false, meaning: 'No request of that step was sent with a plan.' },
  presentation_not_found: { status: 404, retryable: false, meaning: 'No such card in this session.' },
  link_not_found: {
    status: 404,
    retryable: false,
    meaning: 'The turn has no such link, or it was taken back.',
  },
  unknown_leg: { status: 400, retryable: false, meaning: 'The leg is not configured.' },
  unknown_tool: { status: 400, retryable: false, meaning: 'The tool is not configured.' },
  invalid_request: { status: 400, retryable: false, meaning: 'The request does not fit the contract.' },
  body_too_large: { status: 413, retryable: false, meaning: 'The body is larger than the limit.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    meaning: 'The body is of another media type than the route takes.',
  },
  idempotency_conflict: { status: 409, retryable: false, meaning: 'The key was used with another body.' },
  session_archived: { status: 409, retryable: false, meaning: 'The session takes no new turns.' },
  turn_running: {
    status: 409,
    retryable: true,
    meaning: 'The head runs a turn and the mode forbids waiting.',
  },
  turn_closed: { status: 409, retryable: false, meaning: 'The turn has ended.' },
  turn_not_waiting: { status: 409, retryable: false, meaning: 'The turn does not wait for what was sent.' },
  call_answered: { status: 409, retryable: false, meaning: 'The call has another result already.' },
  turn_not_stuck: {
    status: 409,
    retryable: false,
    meaning: 'The turn is moving; there is nothing to retry.',
  },
  turn_parked: {
    status: 409,
    retryable: false,
    meaning: 'No process of this version can move the turn.',
  },
  turn_elsewhere: { status: 409, retryable: true, meaning: 'Processes of another version move the turn.' },
  ledger_corrupt: {
    status: 500,
    retryable: false,
    meaning: 'A record fails verification; nothing after it is trusted.',
  },
  ancestor_unreadable: {
    status: 409,
    retryable: false,
    meaning: 'A record that a fork would go on from is missing or altered.',
  },
  checkpoint_refused: {
    status: 400,
    retryable: false,
    meaning: 'A checkpoint is cut off, altered, or of another version.',
  },
  session_exists: {
    status: 409,
    retryable: false,
    meaning: 'The session, or one it goes on from, is here already.',
  },
  head_not_found: { status: 404, retryable: false, meaning: 'No such head in this session.' },
  item_not_found: { status: 404, retryable: false, meaning: 'No such item in this session.' },
  item_open: { status: 409, retryable: true, meaning: 'The item is still being recorded.' },
  bad_pattern: { status: 400, retryable: false, meaning: 'The pattern cannot be searched for.' },
  record_unreadable: {
    status: 409,
    retryable: false,
    meaning: 'A record that was asked for is missing, altered or erased.',
  },
  not_evicting: { status: 409, retryable: false, meaning: 'Nothing leaves the requests of this session.' },
  nothing_to_evict: { status: 409, retryable: false, meaning: 'The span holds no item that could leave.' },
  record_refused: { status: 500, retryable: false, meaning: 'A record does not fit its kind.' },
  snapshot_refused: {
    status: 500,
    retryable: false,
    meaning: 'A stored snapshot is not of this machine and version.',
  },
  busy: { status: 503, retryable: true, meaning: 'Too many writers at once on one session.' },
  rate_limited: { status: 429, retryable: true, meaning: 'Too many requests for this key.' },
  internal: { status: 500, retryable: false, meaning: 'A defect of this program.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export class TurnwrightError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  /** `message` says what was wrong, what was found and what to do. */
  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TurnwrightError';
    this.code = code;
    this.details = options.details;
  }

  get retryable(): boolean {
    return ERROR_CATALOGUE[this.code].retryable;
  }

  get status(): number {
    return ERROR_CATALOGUE[this.code].status;
  }
}
