/* Owns what programs get with ws2tcpip.h: IPv6 and address text.
 * Not getaddrinfo and the other name services. inet_pton is declared with winsock2.h already. */
#ifndef WIRESTAMP_WS2TCPIP_H
#define WIRESTAMP_WS2TCPIP_H

#include "winsock2.h"
#include "ws2ipdef.h"

#define InetPtonA inet_pton
#define InetNtopA inet_ntop

#endif
