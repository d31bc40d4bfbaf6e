/* Named values of link services (FC-FS, RFC 2625) and of the Name Server (FC-GS), for the field table. */
#ifndef FCVI_CODES_LINK_H
#define FCVI_CODES_LINK_H

#include <fcvi/table.h>

static const struct fcvi_code codes_ELS[] = {
    {0x01, "LS_RJT"}, {0x02, "LS_ACC"},   {0x03, "PLOGI"},      {0x04, "FLOGI"},
    {0x05, "LOGO"},   {0x07, "RCS"},      {0x08, "RES"},        {0x0E, "RTV"},
    {0x0F, "RLS"},    {0x10, "ECHO"},     {0x11, "TEST"},       {0x12, "RRQ"},
    {0x13, "REC"},    {0x14, "SRR"},      {0x20, "PRLI"},       {0x21, "PRLO"},
    {0x22, "SCN"},    {0x24, "TPRLO"},    {0x50, "PDISC"},      {0x51, "FDISC"},
    {0x52, "ADISC"},  {0x54, "FARP-REQ"}, {0x55, "FARP-REPLY"}, {0x60, "FAN"},
    {0x61, "RSCN"},   {0x62, "SCR"},      {0x78, "RNID"},       {0, NULL},
};
static const struct fcvi_code codes_LS_RJT_REASON[] = {
    {0x01, "Invalid ELS command code"},
    {0x03, "Logical error"},
    {0x05, "Logical busy"},
    {0x07, "Protocol error"},
    {0x09, "Unable to perform command request"},
    {0x0B, "Command not supported"},
    {0x0E, "Command already in progress"},
    {0x20, "FIP error"},
    {0xFF, "Vendor specific error"},
    {0, NULL},
};
static const struct fcvi_code codes_LS_RJT_EXPLANATION[] = {
    {0x00, "No additional explanation"},
    {0x01, "Service Parameter error - Options"},
    {0x03, "Service Parameter error - Initiator Control"},
    {0x05, "Service Parameter error - Recipient Control"},
    {0x07, "Service Parameter error - Receive Data_Field Size"},
    {0x09, "Service Parameter error - Concurrent Sequences"},
    {0x0B, "Service Parameter error - Credit"},
    {0x0D, "Invalid N_Port/F_Port Name"},
    {0x0E, "Invalid Node/Fabric Name"},
    {0x0F, "Invalid Common Service Parameters"},
    {0x11, "Invalid Association_Header"},
    {0x13, "Association_Header required"},
    {0x15, "Invalid Originator S_ID"},
    {0x17, "Invalid OX_ID-RX_ID combination"},
    {0x19, "Command already in progress"},
    {0x1E, "N_Port Login required"},
    {0x1F, "Invalid N_Port Identifier"},
    {0x21, "Invalid SEQ_ID"},
    {0x23, "Attempt to abort invalid Exchange"},
    {0x25, "Attempt to abort inactive Exchange"},
    {0x27, "Recovery_Qualifier required"},
    {0x29, "Insufficient resources to support Login"},
    {0x2A, "Unable to supply requested data"},
    {0x2C, "Request not supported"},
    {0x2D, "Invalid payload length"},
    {0x44, "Invalid Port/Node_Name"},
    {0x48, "Authentication required"},
    {0, NULL},
};
static const struct fcvi_code codes_RESOLUTION[] = {{0, "1 ms"}, {1, "1 ns"}, {0, NULL}};
static const struct fcvi_code codes_SCR_FUNCTION[] = {{0x01, "Fabric detected registration"},
                                                      {0x02, "N_Port detected registration"},
                                                      {0x03, "Full registration"},
                                                      {0xFF, "Clear registrations"},
                                                      {0, NULL}};
static const struct fcvi_code codes_ADDRESS_FORMAT[] = {
    {0, "Port"}, {1, "Area"}, {2, "Domain"}, {3, "Fabric"}, {0, NULL}};
/* bits: 0 Port_Name, 1 Node_Name, 2 IP address; all that are set have to match */
static const struct fcvi_code codes_FARP_MATCH[] = {
    {1, "Port_Name"},
    {2, "Node_Name"},
    {3, "Port_Name and Node_Name"},
    {4, "IP address of responder"},
    {5, "Port_Name and IP address of responder"},
    {6, "Node_Name and IP address of responder"},
    {7, "Port_Name, Node_Name and IP address of responder"},
    {0, NULL},
};
static const struct fcvi_code codes_FARP_ACTION[] = {
    {0, "None"}, {1, "Log in"}, {2, "Send FARP-REPLY"}, {3, "Log in and send FARP-REPLY"}, {0, NULL}};

static const struct fcvi_code codes_GS_TYPE[] = {
    {0xF7, "Key Distribution Service"},
    {0xF8, "Alias Service"},
    {0xFA, "Management Service"},
    {0xFB, "Time Service"},
    {0xFC, "Directory Service"},
    {0xFD, "Fabric Controller Service"},
    {0, NULL},
};
/* below 8000h those of the Name Server only: GS_Type and GS_Subtype say whether they apply */
static const struct fcvi_code codes_CT_COMMAND[] = {
    {0x0100, "GA_NXT"},  {0x0112, "GPN_ID"},  {0x0113, "GNN_ID"},  {0x0117, "GFT_ID"},  {0x011B, "GIPP_ID"},
    {0x011F, "GFF_ID"},  {0x0121, "GID_PN"},  {0x012B, "GIPP_PN"}, {0x0131, "GID_NN"},  {0x0135, "GIP_NN"},
    {0x0136, "GIPA_NN"}, {0x0153, "GNN_IP"},  {0x0156, "GIPA_IP"}, {0x0171, "GID_FT"},  {0x0172, "GPN_FT"},
    {0x01A1, "GID_PT"},  {0x01B1, "GID_IPP"}, {0x01B2, "GPN_IPP"}, {0x01F1, "GID_FF"},  {0x0212, "RPN_ID"},
    {0x0213, "RNN_ID"},  {0x0214, "RCS_ID"},  {0x0217, "RFT_ID"},  {0x0218, "RSPN_ID"}, {0x021A, "RPT_ID"},
    {0x021B, "RIPP_ID"}, {0x021F, "RFF_ID"},  {0x0235, "RIP_NN"},  {0x0239, "RSNN_NN"}, {0x0300, "DA_ID"},
    {0x8001, "CT_RJT"},  {0x8002, "CT_ACC"},  {0, NULL},
};
static const struct fcvi_code codes_CT_REASON[] = {
    {0x01, "Invalid command code"},
    {0x02, "Invalid version level"},
    {0x03, "Logical error"},
    {0x04, "Invalid CT_IU size"},
    {0x05, "Logical busy"},
    {0x07, "Protocol error"},
    {0x09, "Unable to perform command request"},
    {0x0B, "Command not supported"},
    {0xFF, "Vendor unique error"},
    {0, NULL},
};
static const struct fcvi_code codes_NAME_SERVER_EXPLANATION[] = {
    {0x00, "No additional explanation"},
    {0x01, "Port Identifier not registered"},
    {0x02, "Port_Name not registered"},
    {0x03, "Node_Name not registered"},
    {0x04, "Class of Service not registered"},
    {0x05, "Node IP address not registered"},
    {0x06, "Initial Process Associator not registered"},
    {0x07, "FC-4 TYPEs not registered"},
    {0x08, "Symbolic Port_Name not registered"},
    {0x09, "Symbolic Node_Name not registered"},
    {0x0A, "Port type not registered"},
    {0x0B, "Port IP address not registered"},
    {0x0C, "Fabric Port_Name not registered"},
    {0x0D, "Hard Address not registered"},
    {0x0E, "FC-4 Descriptor not registered"},
    {0x0F, "FC-4 Features not registered"},
    {0x10, "Access denied"},
    {0x11, "Unacceptable Port Identifier"},
    {0x12, "Data base empty"},
    {0x13, "No object registered in the specified scope"},
    {0, NULL},
};
static const struct fcvi_code codes_PORT_ID_CONTROL[] = {{0x80, "Last"}, {0, NULL}};

#endif
